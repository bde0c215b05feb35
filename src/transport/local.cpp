#include "transport/local.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <utility>

#include "base/environment.h"
#include "base/shared_texts.h"
#include "base/time.h"
#include "base/try.h"
#include "sys/child.h"
#include "sys/inherited.h"
#include "sys/installed.h"
#include "sys/io.h"
#include "sys/oom_kills.h"
#include "transport/bootstrap.h"

namespace dlaunch::transport {
namespace {

constexpr std::chrono::seconds kExitWait{5};  // after Clean, an agent exits within a millisecond
constexpr int kNotReaped = -1;                // not an exit
constexpr char kAgent[] = "dlaunch-agent";
constexpr unsigned kMemfdExec = 0x10;  // MFD_EXEC; Linux 6.3 requires the flag

/// True if no other users can write `file` than can write this program.
bool is_ours(const struct stat& file) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  struct stat own{};
  return ::stat("/proc/self/exe", &own) == 0 && S_ISREG(file.st_mode) && file.st_uid == own.st_uid &&
         file.st_gid == own.st_gid && (file.st_mode & kOthersWrite & ~own.st_mode) == 0;
}

/// Returns the installed agent if it equals the agent inside this program; a copy into memory costs a quarter of a
/// start. Compares the size and the first page, because the first page contains the build id, a hash of the whole file.
sys::Fd installed_agent() {
  sys::Fd file(::open(sys::installed_program(kAgent).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const std::string_view image = agent_image().bytes;
  std::array<char, 4096> head{};
  struct stat facts{};
  const bool same = file && ::fstat(file.get(), &facts) == 0 && static_cast<size_t>(facts.st_size) == image.size() &&
                    ::pread(file.get(), head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()) &&
                    image.starts_with({head.data(), head.size()});
  return same && is_ours(facts) ? std::move(file) : sys::Fd();
}

/// Returns the agent as a file without a path: no other process can open the file.
Result<sys::Fd> agent_in_memory() {
  sys::Fd file(::memfd_create(kAgent, MFD_CLOEXEC | kMemfdExec));
  if (!file && errno == EINVAL) file.reset(::memfd_create(kAgent, MFD_CLOEXEC));
  const sys::KeptDisposition kept(SIGXFSZ);
  ::signal(SIGXFSZ, SIG_IGN);  // a write over the limit then fails with EFBIG
  if (!file || !sys::write_all(file.get(), agent_image().bytes)) {
    const int error = errno;
    return fail({"", "cannot unpack the agent into memory", std::strerror(error),
                 error == EFBIG ? "set a higher limit of the size of files: ulimit -f"
                                : "check the free memory and the memory limit",
                 kExitHostLost});
  }
  return file;
}

struct Start {
  const char* path;
  char* const* argv;
  char* const* envp;
  int stream;
  const rlimit& open_files;
  int error = 0;
};

/// Runs in a child that shares our memory, with all signals blocked, as the agent requires.
int become_agent(void* borrowed) {
  Start& start = *static_cast<Start*>(borrowed);
  ::setrlimit(RLIMIT_NOFILE, &start.open_files);
  if (::dup2(start.stream, 0) == 0 && ::dup2(start.stream, 1) == 1) ::execve(start.path, start.argv, start.envp);
  start.error = errno;
  ::_exit(1);
}

/// Like posix_spawn(), but also sets a limit, and does not query the kernel for each signal.
int start_agent(const sys::Fd& file, const sys::Fd& stream, std::vector<std::string> environment,
                const rlimit& open_files, pid_t& pid) {
  constexpr size_t kStack = 32u << 10;
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  std::string name = kAgent;
  std::string local = "--local";
  char* const argv[] = {name.data(), local.data(), nullptr};
  std::vector<char*> envp;
  for (std::string& entry : environment) envp.push_back(entry.data());
  envp.push_back(nullptr);
  Start start{path.c_str(), argv, envp.data(), stream.get(), open_files};
  const auto stack = std::make_unique_for_overwrite<char[]>(kStack);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // our handlers must not run in the child
  pid = ::clone(&become_agent, stack.get() + kStack, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
  if (pid < 0) start.error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid > 0 && start.error != 0) ::waitpid(pid, nullptr, 0);
  return start.error;
}

Disconnect lost_agent(const sys::OomWatch& watch) {
  const std::string oom = watch.text();
  if (oom.empty()) return {};
  return {.what = "lost the connection to the agent" + oom,
          .why = {},
          .hint = "start fewer ranks per host, or request more memory"};
}

}  // namespace

Local::Local(const std::string& job_id, std::chrono::milliseconds grace, const rlimit& open_files, Note note,
             std::vector<std::string> environment)
    : mark_(agent_mark(job_id)),
      marks_({mark_, rank_mark(job_id)}),
      grace_(grace),
      open_files_(open_files),
      note_(std::move(note)),
      environment_(std::move(environment)) {}

void Local::end_orphans() { end_orphans_ = ::getpid() != 1 && sys::has_no_child(); }

void Local::start_early() { early_ = start(); }

Result<Connection> Local::open(const plan::Host& host) {
  auto opened = early_ ? *std::exchange(early_, std::nullopt) : start();
  if (!opened) opened.error().where = host.name;
  name_ = host.name;
  return opened;
}

Result<Connection> Local::start() {
  sys::become_subreaper();
  const sys::OomWatch watch;
  auto [ours, theirs] = sys::make_socketpair();
  auto environment = environment_;  // the plan sets the environment of ranks
  environment.push_back(mark_);
  if (const auto directory = variable(own_environment(), "TMPDIR")) environment.push_back("TMPDIR=" + *directory);
  pid_t pid = 0;
  int error = ENOENT;
  if (const sys::Fd file = installed_agent()) error = start_agent(file, theirs, environment, open_files_, pid);
  if (error != 0) {
    const auto file = TRY(agent_in_memory());
    error = start_agent(file, theirs, environment, open_files_, pid);
  }
  if (error != 0) {
    return fail({"", "cannot start the agent", std::strerror(error), "", kExitHostLost});
  }
  agents_.push_back({pid, sys::open_pidfd(pid)});
  return Connection{.stream = std::move(ours), .passes_fds = true, .disconnect = [watch] { return lost_agent(watch); }};
}

void Local::forward(int signal) {
  for (const Agent& agent : agents_) {
    if (!agent.wait_status) ::kill(agent.pid, signal);  // else the pid may belong to another process
  }
}

void Local::reaped(int pid, int wait_status) {
  for (Agent& agent : agents_) {
    if (agent.pid == pid && !agent.wait_status) agent.wait_status = wait_status;
  }
}

void Local::report(const std::vector<sys::Process>& left) const {
  for (const sys::Process& process : left) {
    const char* const until =
        process.state == 'D' ? ": the process stays on this host until its disk answers" : " did not end after SIGKILL";
    note_((name_.empty() ? "" : name_ + ": ") + sys::describe(process) + until);
  }
}

void Local::close() {
  early_.reset();
  bool gave_up = true;  // each agent has exited, and has reported the processes that do not end after KILL
  for (const Agent& agent : agents_) {
    int wait_status = agent.wait_status.value_or(kNotReaped);
    if (!agent.wait_status) sys::reap_by(agent.pid, agent.handle, Clock::now() + kExitWait, &wait_status);
    gave_up = gave_up && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
  }
  const auto others = end_orphans_ ? sys::OtherSessions::ended : sys::OtherSessions::kept;
  if (!agents_.empty() && !sys::reap_all()) {
    constexpr std::chrono::seconds kNone{0};
    const auto left =
        sys::end_descendants_with(marks_, gave_up ? kNone : grace_, others, gave_up ? kNone : sys::kWaitAfterKill);
    if (!gave_up) report(left);
  }
  agents_.clear();
}

}  // namespace dlaunch::transport
