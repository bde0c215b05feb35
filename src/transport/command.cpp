#include "transport/command.h"

#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "sys/child.h"
#include "sys/io.h"
#include "transport/reason_lines.h"

namespace dlaunch::transport {
namespace {

void replace_all(std::string& text, std::string_view word, const std::string& by) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
}

}  // namespace

std::string exec_command(std::string_view line, const plan::Host& host) {
  std::string text(line);
  if (!host.reach.step.empty()) replace_all(text, "{step}", host.reach.step);
  replace_all(text, "{host}", shell_quote(host.name));
  return text;
}

std::string group_command(std::string_view line, const std::vector<plan::Host>& hosts) {
  std::string names;
  std::string steps;
  for (const plan::Host& host : hosts) {
    const char* const comma = names.empty() ? "" : ",";
    names += comma + host.name;
    steps += comma + host.reach.step;
  }
  std::string text(line);
  if (text.find("{hosts}") != text.npos) replace_all(text, "{step}", hosts.front().reach.step);
  replace_all(text, "{count}", std::to_string(hosts.size()));
  replace_all(text, "{hosts}", shell_quote(names));
  replace_all(text, "{steps}", shell_quote(steps));
  return text;
}

std::string shell_there(std::string_view exec, const plan::Host& host) {
  if (host.local) return "sh";
  if (host.reach.node) return "sh  # on " + shell_quote(host.name);
  if (!exec.empty()) return exec_command(exec, host) + " sh";
  std::string line = "ssh";
  if (host.reach.port) line += " -p " + std::to_string(*host.reach.port);
  if (!host.reach.identity.empty()) line += " -i " + shell_quote(host.reach.identity);
  if (!host.reach.jump.empty()) line += " -J " + shell_quote(host.reach.jump);
  if (!host.reach.user.empty()) line += " -l " + shell_quote(host.reach.user);
  return line + ' ' + shell_quote(host.name) + " sh";
}

}  // namespace dlaunch::transport

extern char** environ;

namespace dlaunch::transport {
namespace {

constexpr const char* kShell = "/bin/sh";
constexpr int kNoShell = 127;

/// Sets PATH if the variable is not set: the shell finds the command without PATH, but the command may not find other
/// programs.
std::string script_of(const std::string& line, const std::string& before) {
  return ": \"${PATH:=/usr/local/bin:/usr/bin:/bin}\"\nexport PATH\n" + before + "exec " + line;
}

/// Runs in the child after fork() and does not return. Uses only async-signal-safe calls.
[[noreturn]] void become_shell(char* const* argv, int stream, int errors, pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNoShell);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(stream, STDIN_FILENO);
  ::dup2(stream, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::execve(kShell, argv, environ);
  ::_exit(kNoShell);
}

// Limits for all commands together. A connected command exits by itself after its stream is closed.
constexpr std::chrono::milliseconds kAllEndByThemselves{1000};
constexpr std::chrono::milliseconds kAllMustEndByThemselves{10000};
constexpr std::chrono::milliseconds kAllEndAfterTerm{1000};  // a local agent also needs time to end its ranks
constexpr std::chrono::milliseconds kAllEndAfterKill{1000};  // a longer wait means uninterruptible sleep

}  // namespace

int Command::start(const std::string& line, const sys::Fd& stream, const sys::Fd& errors, const std::string& before) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::sigaddset(&signals, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), 0);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors.get(), 2);
  std::string script = script_of(line, before);
  char name[] = "sh";
  char option[] = "-c";
  char* const argv[] = {name, option, script.data(), nullptr};
  const int error = ::posix_spawn(&pid_, kShell, &actions, &attributes, argv, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) handle_ = sys::open_pidfd(pid_);
  return error;
}

int Command::start_tied(const std::string& line, const sys::Fd& stream, const sys::Fd& errors) {
  std::string script = script_of(line, {});
  char name[] = "sh";
  char option[] = "-c";
  char* const argv[] = {name, option, script.data(), nullptr};
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become_shell(argv, stream.get(), errors.get(), parent);
  if (pid_ < 0) return errno;
  handle_ = sys::open_pidfd(pid_);
  return 0;
}

bool Command::has_ended() const { return ::waitpid(pid_, nullptr, WNOHANG) != 0; }
void Command::signal(int signal) const { ::kill(-pid_, signal); }

bool Command::ends_by(std::chrono::steady_clock::time_point deadline) const {
  return sys::reap_by(pid_, handle_, deadline);
}

bool RunningCommands::wait_for_all(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::erase_if(children_, [&](const Child& child) { return child.command.ends_by(deadline); });
  return children_.empty();
}

void RunningCommands::signal_all(int signal) {
  for (const Child& child : children_) child.command.signal(signal);
}

bool RunningCommands::end_all(Ending ending) {
  if (ending == Ending::by_itself) return wait_for_all(kAllMustEndByThemselves);
  if (wait_for_all(kAllEndByThemselves)) return true;
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped command would not receive SIGTERM
  if (wait_for_all(kAllEndAfterTerm)) return true;
  signal_all(SIGKILL);
  return wait_for_all(kAllEndAfterKill);
}

void RunningCommands::end(Ending ending, const std::function<void(const std::string&)>& note) {
  if (end_all(ending)) return;
  const char* const what = ending == Ending::by_signal
                               ? ", did not end after SIGKILL: uninterruptible sleep"
                               : ", still runs: dlaunch sends no signal, because a signal would end the whole job";
  for (const Child& child : children_) {
    if (note) note(child.host + ": the transport's command, pid " + std::to_string(child.command.pid()) + what);
  }
  children_.clear();
}

}  // namespace dlaunch::transport

namespace dlaunch::transport {
namespace {

constexpr size_t kLongestAnswer = 1u << 20;
constexpr size_t kMostErrors = 16u << 10;  // bytes: the end of stderr
constexpr std::chrono::milliseconds kEnds{500};

/// Returns the result of one read(2).
ssize_t read_some(const sys::Fd& from, std::string& text) {
  std::array<char, 64u << 10> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  const ssize_t got = TEMP_FAILURE_RETRY(::read(from.get(), buffer.data(), buffer.size()));
  if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
  return got;
}

/// Reads at most one pipe's content.
void take_errors(sys::Fd& from, std::string& text) {
  const ssize_t got = read_some(from, text);
  if (got == 0 || (got < 0 && errno != EAGAIN)) from.reset();
  if (text.size() > kMostErrors) text.erase(0, text.size() - kMostErrors);
}

/// Reads `from` and `errors` until `from` ends; false: the deadline passed. An unread stderr pipe would block the
/// command.
bool read_to_end(const sys::Fd& from, std::string& text, sys::Fd& errors, std::string& error_text, Time deadline,
                 int ended) {
  while (text.size() < kLongestAnswer) {
    std::array<pollfd, 3> waits{{{from.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}, {ended, POLLIN, 0}}};
    const int ready = ::poll(waits.data(), waits.size(), milliseconds_until(deadline));
    if (ready == 0 || waits[2].revents != 0) return false;
    if (waits[1].revents != 0) take_errors(errors, error_text);
    if (waits[0].revents != 0 && read_some(from, text) <= 0) return true;
    if (waits[0].revents == 0 && Clock::now() >= deadline) return false;
  }
  return true;
}

/// Waits for the command's exit; kills a late command at once, because there is nothing to clean up.
void end_command(const Command& command, bool in_time) {
  if (!in_time) command.signal(SIGKILL);
  command.ends_by(Clock::now() + kEnds);
}

}  // namespace

CommandAnswer ask_command(const std::string& line, std::chrono::milliseconds limit, int ended) {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  Command command;
  const int error = errors.read ? command.start_tied(line, theirs, errors.write) : errno;
  if (error != 0) return {.text = {}, .trouble = std::strerror(error)};
  theirs.reset();
  errors.write.reset();
  sys::set_nonblocking(errors.read.get());
  CommandAnswer answer;
  std::string error_text;
  const bool in_time = read_to_end(ours, answer.text, errors.read, error_text, Clock::now() + limit, ended);
  ours.reset();
  end_command(command, in_time);
  if (errors.read) take_errors(errors.read, error_text);
  answer.trouble = last_lines(error_text);
  if (in_time) return answer;
  return {.text = {}, .trouble = "timed out after " + std::to_string(limit.count() / 1000) + " s"};
}

}  // namespace dlaunch::transport

namespace dlaunch::transport {

Exec::Exec(CommandFor command, std::function<void(const std::string&)> note, Ending ending)
    : command_(std::move(command)), note_(std::move(note)), ending_(ending) {}
Exec::~Exec() { close(); }

Result<Connection> Exec::open(const plan::Host& host) {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  Command child;
  const int error = errors.read ? child.start(command_(host) + " sh", theirs, errors.write) : errno;
  if (error != 0) {
    return fail({host.name, "cannot run the transport's command", std::strerror(error), "", kExitHostLost});
  }
  commands_.add(std::move(child), host.name);
  return Connection{std::move(ours), false, true, host.reach.agent, std::move(errors.read)};
}

void Exec::close() { commands_.end(ending_, note_); }

}  // namespace dlaunch::transport
