#include "transport/command.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "sys/child.h"

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
  ::signal(SIGPIPE, SIG_DFL);
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
                               : ", still runs: dlaunch does not stop it, because a signal would end the whole job";
  for (const Child& child : children_) {
    if (note) note(child.host + ": the transport's command, pid " + std::to_string(child.command.pid()) + what);
  }
  children_.clear();
}

}  // namespace dlaunch::transport
