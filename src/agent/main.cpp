// dlaunch-agent: two processes. The guardian waits; the worker, its child, is the agent. Each cleans up if the other is
// killed: a worker without a guardian ends its ranks; a guardian without a worker ends all processes of the job.
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "agent/agent.h"
#include "agent/dial_in.h"
#include "agent/job_cgroup.h"
#include "agent/job_directory.h"
#include "agent/reaper.h"
#include "agent/workdir_setup.h"
#include "base/time.h"
#include "dlaunch/exit_status.h"
#include "sys/descendants.h"
#include "sys/inherited.h"
#include "sys/io.h"
#include "sys/oom_kills.h"

namespace {

namespace agent = dlaunch::agent;
namespace sys = dlaunch::sys;

using dlaunch::Clock;
constexpr std::chrono::seconds kOrphanGrace{3};  // the launcher's own grace period is lost with the worker
constexpr std::chrono::seconds kLongJob{1};      // only then abandoned groups are removed
constexpr int kStoppedTicks = 20;                // seconds: a little more than three missed heartbeats
constexpr int kEndTicks = 3;                     // in units of kToldTick: more than a suspended and resumed job needs
constexpr timespec kTick{1, 0};
constexpr timespec kEndTick{0, 50'000'000};
constexpr int kBroken = 3;
constexpr std::array kPassedOn = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};  // by the guardian, to its worker

sys::Fd take_over(int fd) {
  sys::Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) sys::throw_errno("fcntl(F_DUPFD_CLOEXEC)");
  return copy;
}

/// From here on, 0 and 1 are /dev/null: no print may reach the link.
void replace_by_null(int fd) {
  const sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null || ::dup2(null.get(), fd) < 0) sys::throw_errno("dup2");
}

void reset_signals() {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {  // the C library refuses its own two signals
    if (signal != SIGKILL && signal != SIGSTOP) ::signal(signal, SIG_DFL);
  }
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// The guardian's signals: CHLD, and the forwarded signals.
sigset_t awaited_by_guardian() {
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGCHLD);
  for (const int signal : kPassedOn) ::sigaddset(&awaited, signal);
  return awaited;
}

int work(pid_t guardian, agent::JobDirectory& files, agent::JobCgroup& cgroup) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != guardian) return kBroken;
  if (::setsid() < 0) sys::throw_errno("setsid");  // a kill of the guardian's process group must not reach the worker
  sys::become_subreaper();
  sys::Fd in = take_over(STDIN_FILENO);
  sys::Fd out = take_over(STDOUT_FILENO);
  replace_by_null(STDIN_FILENO);
  replace_by_null(STDOUT_FILENO);
  const rlimit open_files = sys::raise_open_files();
  asio::io_context io(1);
  agent::Agent agent(io, std::move(in), std::move(out), open_files, files, cgroup);
  const sigset_t awaited = awaited_by_guardian();
  ::sigprocmask(SIG_UNBLOCK, &awaited, nullptr);  // signals from before this point are delivered now
  return agent.run(guardian);
}

int sweep(const agent::JobCgroup& cgroup, std::chrono::seconds grace, std::chrono::seconds kill_wait) {
  asio::io_context io(1);
  agent::Reaper sweeper(io, cgroup);
  int code = kBroken;
  sweeper.start(grace, [&](const std::vector<std::string>& left) { code = left.empty() ? 0 : kBroken; }, kill_wait);
  io.run();
  return code;
}

struct End {
  int wait_status;
  bool hurry;  ///< a termination signal allows no grace period
};

/// Forwards each signal in kPassedOn to the worker; these signals and CHLD, `awaited`, are blocked. Kills a stopped
/// worker when the launcher must have given it up, and soon after TERM, INT or HUP. (The launcher ends the
/// transport's command with these signals; KILL follows, and then no process could clean up.) Counts only time in which
/// the guardian runs, so a whole job may be suspended and resumed.
End wait_for_end(pid_t worker, const sigset_t& awaited) {
  bool stopped = false;
  bool end_requested = false;
  bool killed = false;
  for (int ticks = 0;;) {
    int wait_status = 0;
    const pid_t got = ::waitpid(worker, &wait_status, WNOHANG | WUNTRACED | WCONTINUED);
    if (got < 0) return {wait_status, false};
    if (got == worker) {
      if (!WIFSTOPPED(wait_status) && !WIFCONTINUED(wait_status)) return {wait_status, end_requested && killed};
      stopped = WIFSTOPPED(wait_status);
      end_requested = false;
      ticks = 0;
      continue;
    }
    const int signal = ::sigtimedwait(&awaited, nullptr, stopped ? (end_requested ? &kEndTick : &kTick) : nullptr);
    if (signal > 0 && signal != SIGCHLD) ::kill(worker, signal);
    const bool to_end = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
    if (to_end && stopped && !std::exchange(end_requested, true)) ticks = 0;
    if (signal >= 0 || errno != EAGAIN || ++ticks != (end_requested ? kEndTicks : kStoppedTicks)) continue;
    ::kill(worker, SIGKILL);
    killed = true;
  }
}

/// Writes to stderr that memory ran out; a launcher on another host reads the line. Never waits for the reader.
void report_end(int wait_status, const sys::OomWatch& memory) {
  const std::string oom = WIFSIGNALED(wait_status) ? memory.text() : "";
  if (oom.empty()) return;
  const std::string line = "dlaunch-agent " + dlaunch::ExitStatus::from_wait(wait_status).describe() + oom + '\n';
  pollfd writable{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&writable, 1, 0) != 1) return;
  [[maybe_unused]] const ssize_t wrote = ::write(STDERR_FILENO, line.data(), line.size());
}

/// Waits for the worker's end, then removes all remains of the job. Returns the exit code.
int guard(pid_t worker, bool remote, agent::JobDirectory& files, agent::JobCgroup& cgroup) {
  const sys::OomWatch memory;
  replace_by_null(STDIN_FILENO);  // only the worker may have the link open, so that its end is seen
  replace_by_null(STDOUT_FILENO);
  ::signal(SIGQUIT, SIG_IGN);
  const sigset_t awaited = awaited_by_guardian();
  const auto start = Clock::now();
  const End end = wait_for_end(worker, awaited);
  if (remote) report_end(end.wait_status, memory);
  for (const int signal : kPassedOn) ::signal(signal, SIG_IGN);
  ::sigprocmask(SIG_UNBLOCK, &awaited, nullptr);
  if (!sys::reap_all()) {
    constexpr std::chrono::seconds kNone{0};
    // A worker that exits has ended all processes, except those that do not end after KILL.
    const bool gave_up = WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) != kBroken;
    sweep(cgroup, end.hurry || gave_up ? kNone : kOrphanGrace, gave_up ? kNone : agent::kSweepKillWait);
  }
  files.remove();
  cgroup.remove();
  if (Clock::now() - start >= kLongJob) agent::JobCgroup::remove_abandoned();
  return dlaunch::ExitStatus::from_wait(end.wait_status).shell_code();
}

/// `remote`: the launcher is on another host, and reads stderr.
int run(bool remote) {
  ::prctl(PR_SET_NAME, "dlaunch-agent");    // the name would be the number of a descriptor if the file is in memory
  ::syscall(SYS_close_range, 3u, ~0u, 0u);  // ranks must not inherit descriptors of the agent's ancestors
  reset_signals();
  if (::setsid() < 0 && errno != EPERM) sys::throw_errno("setsid");
  sys::become_subreaper();
  agent::JobDirectory files;
  agent::JobCgroup cgroup;
  const pid_t guardian = ::getpid();
  const sigset_t awaited = awaited_by_guardian();
  ::sigprocmask(SIG_BLOCK, &awaited, nullptr);  // a signal before the guardian waits is forwarded, too
  const pid_t worker = ::fork();
  if (worker < 0) sys::throw_errno("fork");
  return worker == 0 ? work(guardian, files, cgroup) : guard(worker, remote, files, cgroup);
}

}  // namespace

/// `--probe` shows that this machine can execute the agent; for `--prepare` see agent/workdir_setup.h, for `--dial`
/// agent/dial_in.h. `--local`: the agent of the launcher's machine.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--probe") return 0;
  try {
    if (argc > 1 && std::string_view(argv[1]) == "--prepare") return agent::prepare_main();
    if (argc > 1 && std::string_view(argv[1]) == "--dial") return agent::dial_in_main(argc, argv);
    return run(argc < 2 || std::string_view(argv[1]) != "--local");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dlaunch-agent: %s\n", error.what());
    return kBroken;
  }
}
