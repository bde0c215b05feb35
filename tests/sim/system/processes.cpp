// The system calls and functions about processes, for the world. They are linked in place of sys/descendants.cpp,
// sys/oom_kills.cpp and sys/thread.cpp, and of functions of the C library.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "sys/descendants.h"
#include "sys/oom_kills.h"
#include "sys/thread.h"
#include "world/world.h"

using sim::World;

namespace {

sim::Process* current() { return sim::kernel() ? World::current().processes().current() : nullptr; }

dlaunch::sys::Process to_process(const sim::Process& process) {
  return {.pid = process.pid, .parent = process.parent, .name = "train", .state = 'S'};
}

}  // namespace

namespace dlaunch::sys {

void become_subreaper() {}
bool proc_shows_own_pids() { return true; }

bool reap_all(const std::function<void(int, int)>& reaped) {
  if (!current()) return true;
  for (;;) {
    int wait_status = 0;
    const int pid = World::current().processes().wait(*current(), -1, &wait_status, WNOHANG);
    if (pid == 0) return false;
    if (pid < 0) return true;
    if (reaped) reaped(pid, wait_status);
  }
}

std::vector<Process> descendants() {
  std::vector<Process> found;
  for (const sim::Process* each : World::current().processes().descendants(current()->pid)) {
    found.push_back(to_process(*each));
  }
  return found;
}

std::vector<Process> processes_with(const std::vector<std::string>&) {
  std::vector<Process> found;
  for (const sim::Process* each : World::current().processes().of_job(current()->host))
    found.push_back(to_process(*each));
  return found;
}

void signal_process(const Process& process, int signal) {
  World::current().processes().signal(process.pid, signal, sim::Process::End::by_signal_of_agent);
}

std::string describe(const Process& process) { return "pid " + std::to_string(process.pid) + " (train), state D"; }
std::optional<Process> find_process(int) { return std::nullopt; }
std::vector<Process> all_processes() { return {}; }
std::vector<Process> descendants_of(int, const std::vector<Process>&) { return {}; }
std::optional<std::vector<Process>> listed_descendants_of(int) { return std::nullopt; }
bool has_no_child() { return true; }
std::vector<Process> end_descendants_with(const std::vector<std::string>&, std::chrono::milliseconds, OtherSessions,
                                          std::chrono::seconds) {
  return {};
}

bool catches(int, int) { return false; }
std::vector<std::uint32_t> signal_where_caught(const std::vector<std::pair<std::uint32_t, pid_t>>& children,
                                               int signal) {
  std::vector<std::uint32_t> without;
  for (const auto& [rank, pid] : children) {
    if (!World::current().processes().signal_if_caught(pid, signal)) without.push_back(rank);
  }
  return without;
}

std::optional<long> oom_kills() { return std::nullopt; }
std::string OomWatch::text() const { return {}; }

// No thread starts in a world; the product goes on without it: an agent answers SampleStacks without a rank.
Thread::Thread(Thread&&) noexcept {}
Thread& Thread::operator=(Thread&&) noexcept { return *this; }
Thread::~Thread() = default;
int Thread::start(std::function<void()>) { return EAGAIN; }
bool Thread::join_until(std::chrono::steady_clock::time_point) { return true; }

}  // namespace dlaunch::sys

extern "C" {

pid_t waitpid(pid_t pid, int* status, int options) {
  if (sim::Process* process = current()) return World::current().processes().wait(*process, pid, status, options);
  return static_cast<pid_t>(::syscall(SYS_wait4, pid, status, options, nullptr));
}

int kill(pid_t pid, int signal) noexcept {
  if (!sim::kernel()) return static_cast<int>(::syscall(SYS_kill, pid, signal));
  const auto reason = sim::Process::End::by_signal_of_agent;
  const sim::Process* const target = World::current().processes().find(pid < 0 ? -pid : pid);
  if (target && !target->alive && !target->zombie)
    World::current().tell([](sim::Observer& observer) { observer.stray_signal(); });
  if (World::current().processes().signal(pid < 0 ? -pid : pid, signal, reason)) return 0;
  errno = ESRCH;
  return -1;
}

pid_t getpid() noexcept {
  const sim::Process* process = current();
  return process ? process->pid : static_cast<pid_t>(::syscall(SYS_getpid));
}

pid_t getppid() noexcept {
  const sim::Process* process = current();
  if (!process) return static_cast<pid_t>(::syscall(SYS_getppid));
  return process->parent == 0 ? 1 : process->parent;
}

int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  if (current()) return 0;
  return static_cast<int>(::syscall(SYS_rt_sigprocmask, how, set, before, 8));
}

int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* limit) {
  sim::Process* const process = current();
  if (!process) return static_cast<int>(::syscall(SYS_rt_sigtimedwait, set, info, limit, 8));
  World& world = World::current();
  int got = 0;
  const std::function<bool()> ready = [&] {
    for (const int signal : process->pending) {
      if (::sigismember(set, signal) == 1) got = signal;
    }
    return got != 0;
  };
  if (!ready()) {
    std::optional<sim::Ns> deadline;
    if (limit) deadline = world.now() + limit->tv_sec * sim::kSecond + limit->tv_nsec;
    world.wait(ready, deadline);
    if (got == 0) ready();
  }
  if (got != 0) {
    process->pending.erase(got);
    return got;
  }
  errno = EAGAIN;
  return -1;
}

__sighandler_t signal(int number, __sighandler_t handler) noexcept {
  if (sim::Process* process = current()) {
    if (handler == SIG_IGN) {
      process->ignored.insert(number);
      process->pending.erase(number);
    }
    return SIG_DFL;
  }
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, &before);
  return before.sa_handler;
}

}  // extern "C"
