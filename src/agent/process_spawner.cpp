#include "agent/process_spawner.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "agent/environment.h"
#include "base/text.h"
#include "plan/mpi.h"
#include "sys/files.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

constexpr int kExecFailed = 127;

/// Restores all defaults before the mask is lifted: a signal must not reach the agent's handlers in the child. With
/// `no_handlers` the kernel has removed the handlers, but SIGPIPE and SIGXFSZ may be ignored.
void reset_signals(bool no_handlers) {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaction(signal, &action, nullptr);
  for (int signal = 1; signal < SIGRTMIN && !no_handlers; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool prepare(const Launch& launch, pid_t parent, SpawnStep& step) {
  step = SpawnStep::session;
  if (::setsid() < 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  if (::getppid() != parent) ::_exit(kExecFailed);  // the parent ended before prctl() took effect
  if (::dup2(launch.in, 0) < 0 || ::dup2(launch.out, 1) < 0 || ::dup2(launch.err, 2) < 0) return false;
  step = SpawnStep::mpi;
  if (launch.mpi == plan::kPmiFd && ::fcntl(launch.mpi, F_SETFD, 0) != 0) return false;
  if (launch.mpi >= 0 && ::dup2(launch.mpi, plan::kPmiFd) < 0) return false;
  step = SpawnStep::terminal;
  if (launch.terminal && ::ioctl(1, TIOCSCTTY, 0) != 0) return false;
  step = SpawnStep::limits;
  if (::setrlimit(RLIMIT_NOFILE, &launch.open_files) != 0) return false;
  step = SpawnStep::affinity;
  if (!launch.affinity.empty() &&
      ::syscall(SYS_sched_setaffinity, 0, launch.affinity.size_bytes(), launch.affinity.data()) != 0) {
    return false;
  }
  for (const int fd : launch.kept) ::fcntl(fd, F_SETFD, 0);
  step = SpawnStep::directory;
  return (launch.directory >= 0 ? ::fchdir(launch.directory) : ::chdir(launch.wdir)) == 0;
}

/// Without calls that are unsafe after a fork.
void write_number(char* text, unsigned number) {
  size_t digits = 1;
  for (unsigned rest = number; rest > 9; rest /= 10) ++digits;
  text[digits] = 0;
  for (; digits > 0; number /= 10) text[--digits] = static_cast<char>('0' + number % 10);
}

[[noreturn]] void become(const Launch& launch, pid_t parent, bool no_handlers, SpawnFailure& failure) {
  SpawnStep step = SpawnStep::session;
  if (prepare(launch, parent, step)) {
    if (launch.own_pid) write_number(launch.own_pid, static_cast<unsigned>(::getpid()));
    step = SpawnStep::environment;
    if (launch.saved_in) ::prctl(PR_SET_NAME, "dlaunch-env.log");  // the name in messages if the disk hangs
    if (!launch.saved_in || save_environment(*launch.saved_in, launch.envp)) {
      step = SpawnStep::exec;
      reset_signals(no_handlers);
      ::execve(launch.path, launch.argv, launch.envp);
    }
  }
  failure = {step, errno};
  ::_exit(kExecFailed);
}

/// Like fork(), without the agent's handlers. If the kernel, a seccomp filter or a permission does not allow this, the
/// child has the handlers and is in the agent's control group.
pid_t clone_child(const Launch& launch, bool& no_handlers) {
  const unsigned long flags = launch.wait ? CLONE_VFORK : 0;
  clone_args asked{};
  asked.flags = flags | CLONE_CLEAR_SIGHAND;
  asked.exit_signal = SIGCHLD;
  if (launch.cgroup >= 0) {
    asked.flags |= CLONE_INTO_CGROUP;
    asked.cgroup = static_cast<unsigned>(launch.cgroup);
  }
  no_handlers = true;
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &asked, sizeof asked));
  if (pid >= 0) return pid;
  no_handlers = false;
  return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD | flags, 0, 0, 0, 0));
}

}  // namespace

SpawnFailure* ProcessSpawner::next_slot() {
  if (!free_.empty()) {
    SpawnFailure* const slot = free_.back();
    free_.pop_back();
    return slot;
  }
  if (pages_.empty() || used_ == pages_.back()->slots.size()) {
    auto page = sys::SharedObject<Page>::make();
    if (!page) sys::throw_errno("mmap");
    pages_.push_back(std::move(page));
    used_ = 0;
  }
  return &pages_.back()->slots[used_++];
}

ProcessSpawner::Child ProcessSpawner::spawn(const Launch& launch) {
  SpawnFailure* slot = next_slot();
  const pid_t parent = ::getpid();
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  bool no_handlers = false;
  const pid_t pid = clone_child(launch, no_handlers);
  if (pid == 0) become(launch, parent, no_handlers, *slot);
  const int error = errno;
  if (pid > 0 && launch.saved_in && !launch.affinity.empty()) {  // now, because the caller reads it back
    ::syscall(SYS_sched_setaffinity, pid, launch.affinity.size_bytes(), launch.affinity.data());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return {pid, pid < 0 ? error : 0, slot};
}

std::optional<SpawnFailure> ProcessSpawner::take_failure(SpawnFailure* slot) {
  const SpawnFailure failure = std::exchange(*slot, {});
  free_.push_back(slot);
  if (failure.error == 0) return std::nullopt;
  return failure;
}

RankOomScore::RankOomScore() {
  constexpr const char* kPath = "/proc/self/oom_score_adj";
  constexpr long kMin = -1000;
  constexpr long kMax = 1000;
  const auto own = parse_int(trim(sys::read_file(kPath).value_or("")), kMin, kMax);
  if (!own || *own == kMax) return;
  file_.reset(::open(kPath, O_WRONLY | O_CLOEXEC));
  own_ = std::to_string(*own);
  raised_ = std::to_string(std::min(*own + kRankOomScore, kMax));
}

void RankOomScore::write(const std::string& value) const {
  if (file_) [[maybe_unused]]
    const ssize_t wrote = ::pwrite(file_.get(), value.data(), value.size(), 0);
}

}  // namespace dlaunch::agent
