#include "agent/spawner.h"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "sys/io.h"

// The child runs in our memory: a sanitizer's bookkeeping must not see two flows of control on it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DLAUNCH_IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define DLAUNCH_IN_CHILD
#endif

namespace dlaunch::agent {
namespace {

constexpr size_t kStackSize = 64u << 10;  // the child makes system calls only; exec needs little
constexpr int kExecFailed = 127;

struct Shared {
  const Launch& launch;
  pid_t parent;
  SpawnStep step = SpawnStep::session;
  int error = 0;
};

/// Handlers would run in memory that is still the agent's: all back to default before the mask is lifted.
DLAUNCH_IN_CHILD void reset_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

DLAUNCH_IN_CHILD bool prepare(Shared& shared) {
  const Launch& launch = shared.launch;
  shared.step = SpawnStep::session;
  if (::setsid() < 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  if (::getppid() != shared.parent) ::_exit(kExecFailed);  // it died before the line above took hold
  if (::dup2(launch.in, 0) < 0 || ::dup2(launch.out, 1) < 0 || ::dup2(launch.err, 2) < 0) return false;
  shared.step = SpawnStep::terminal;
  if (launch.terminal && ::ioctl(1, TIOCSCTTY, 0) != 0) return false;
  shared.step = SpawnStep::limits;
  if (::setrlimit(RLIMIT_NOFILE, &launch.open_files) != 0) return false;
  shared.step = SpawnStep::affinity;
  if (!launch.affinity.empty() &&
      ::syscall(SYS_sched_setaffinity, 0, launch.affinity.size_bytes(), launch.affinity.data()) != 0) {
    return false;
  }
  shared.step = SpawnStep::directory;
  return ::chdir(launch.wdir) == 0;
}

DLAUNCH_IN_CHILD int child_main(void* argument) {
  Shared& shared = *static_cast<Shared*>(argument);
  if (prepare(shared)) {
    shared.step = SpawnStep::exec;
    reset_signals();
    ::execve(shared.launch.path, shared.launch.argv, shared.launch.envp);
  }
  shared.error = errno;
  ::_exit(kExecFailed);
}

}  // namespace

Spawner::Spawner() {
  void* memory = ::mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) sys::throw_errno("mmap");
  stack_ = static_cast<char*>(memory);
}

Spawner::~Spawner() { ::munmap(stack_, kStackSize); }

tl::expected<pid_t, SpawnFailure> Spawner::spawn(const Launch& launch) {
  Shared shared{launch, ::getpid()};
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  const pid_t pid = ::clone(child_main, stack_ + kStackSize, CLONE_VM | CLONE_VFORK | SIGCHLD, &shared);
  const int clone_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return tl::unexpected(SpawnFailure{SpawnStep::clone, clone_error});
  if (shared.error == 0) return pid;
  ::waitpid(pid, nullptr, 0);
  return tl::unexpected(SpawnFailure{shared.step, shared.error});
}

}  // namespace dlaunch::agent
