#include "agent/guardian.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "agent/reaper.h"
#include "base/time.h"
#include "dlaunch/exit_status.h"
#include "sys/descendants.h"
#include "sys/oom_kills.h"

namespace dlaunch::agent {
namespace {

constexpr std::chrono::seconds kOrphanGrace{3};  // the launcher's own grace period is lost with the worker
constexpr std::chrono::seconds kLongJob{1};      // only then abandoned groups are removed
constexpr int kStoppedTicks = 20;                // seconds: a little more than three missed heartbeats
constexpr int kEndTicks = 3;                     // in units of kEndTick: more than a suspended and resumed job needs
constexpr timespec kTick{1, 0};
constexpr timespec kEndTick{0, 50'000'000};

int sweep(const JobCgroup& cgroup, std::chrono::seconds grace, std::chrono::seconds kill_wait) {
  asio::io_context io(1);
  Reaper sweeper(io, cgroup);
  int code = kBroken;
  sweeper.start(grace, [&](const std::vector<std::string>& left) { code = left.empty() ? 0 : kBroken; }, kill_wait);
  io.run();
  return code;
}

struct End {
  int wait_status;
  bool hurry;  ///< a termination signal allows no grace period
};

/// Forwards each signal in kForwarded to the worker; the signals in `awaited` are blocked. Kills a stopped worker when
/// the launcher must have lost the host, and soon after TERM, INT or HUP. (The launcher ends the transport's command
/// with these signals. KILL follows, and then no process could clean up.) Only time in which the guardian runs counts,
/// so that a whole job may be suspended and resumed.
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
    if (signal > 0 && signal != SIGCHLD) ::kill(worker, forwarded(signal));
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
  const std::string line = "dlaunch-agent " + ExitStatus::from_wait(wait_status).describe() + oom + '\n';
  pollfd writable{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&writable, 1, 0) != 1) return;
  [[maybe_unused]] const ssize_t wrote = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

sigset_t awaited_by_guardian() {
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGCHLD);
  for (const int signal : kForwarded) {
    ::sigaddset(&awaited, signal);
    ::sigaddset(&awaited, forwarded(signal));
  }
  return awaited;
}

int guard(pid_t worker, bool remote, JobDirectory& files, JobCgroup& cgroup) {
  const sys::OomWatch memory;
  ::signal(SIGQUIT, SIG_IGN);
  const sigset_t awaited = awaited_by_guardian();
  const auto start = Clock::now();
  const End end = wait_for_end(worker, awaited);
  if (remote) report_end(end.wait_status, memory);
  for (const int signal : kForwarded) ::signal(signal, SIG_IGN);
  ::sigprocmask(SIG_UNBLOCK, &awaited, nullptr);
  if (!sys::reap_all()) {
    constexpr std::chrono::seconds kNone{0};
    // A worker that exits has ended all processes, except those that do not end after KILL.
    const bool gave_up = WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) != kBroken;
    sweep(cgroup, end.hurry || gave_up ? kNone : kOrphanGrace, gave_up ? kNone : kSweepKillWait);
  }
  files.remove();
  cgroup.remove();
  if (Clock::now() - start >= kLongJob) JobCgroup::remove_abandoned();
  return ExitStatus::from_wait(end.wait_status).shell_code();
}

}  // namespace dlaunch::agent
