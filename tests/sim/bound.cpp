#include "bound.h"

#include <algorithm>

#include "job/job.h"
#include "job/rounds.h"
#include "link/heartbeat.h"
#include "link/lease.h"
#include "world/faults.h"

namespace sim {
namespace {

namespace job = dlaunch::job;

template <class Duration>
Ns ns(Duration duration) {
  return std::chrono::nanoseconds(duration).count();
}

/// All waits of a job, each with its limit.
struct Waits {
  explicit Waits(const dlaunch::JobOptions& o)
      : login{"login", ns(o.wait_hosts) + ns(o.ready_wait)},
        others{"other hosts answer", ns(job::kOthersWait)},
        silence{"silence", ns(o.heartbeat) * dlaunch::link::Heartbeat::kMisses},
        stacks{"stacks", ns(job::kStacksWait)},
        grace{"`--grace`", ns(o.policy.grace)},
        kill{"KILL", ns(job::kKillWait)},
        confirm{"KILL is confirmed", ns(job::kConfirmWait)},
        clean{"hosts confirm the end", ns(o.policy.grace) + ns(job::kFinishWait)},
        sweep{"sweep", ns(o.policy.grace) + ns(job::kSweepWait)},
        reader{"the reader reads", ns(job::kReaderMost)},
        lease{"the lease ends",
              ns(o.heartbeat) * dlaunch::link::Lease::kBeats + ns(o.policy.grace) + ns(job::kKillWait)},
        pause{"`--pause-limit`", ns(o.pause_limit)},
        back_off{"pause before a restart", ns(job::Rounds::kLongestWait)} {}

  Wait login, others, silence, stacks, grace, kill, confirm, clean, sweep, reader, lease, pause, back_off;
};

Ns sum(const std::vector<Wait>& waits) {
  Ns all = 0;
  for (const Wait& wait : waits) all += wait.most;
  return all;
}

std::string cell(const std::vector<Wait>& waits) {
  if (waits.empty()) return "–";
  std::string text = seconds_text(sum(waits)) + " s: ";
  for (const Wait& wait : waits)
    text += (&wait == waits.data() ? "" : ", ") + wait.what + ' ' + seconds_text(wait.most);
  return text;
}

}  // namespace

std::vector<Bound> bounds(const dlaunch::JobOptions& options) {
  const Waits w(options);
  return {
      {"a login fails or hangs", {"refuse", "slow"}, {w.login, w.others, w.clean}, {}, {w.sweep}},
      {"a rank fails", {"exit7", "exit93", "oom"}, {}, {w.grace, w.kill, w.clean}, {w.kill, w.clean}},
      {"a rank has a fault such as SIGSEGV",
       {"segv", "segvnew"},
       {},
       {w.stacks, w.grace, w.kill, w.clean},
       {w.kill, w.clean}},
      {"Ctrl-C, SIGTERM, SIGHUP",
       {"int", "term", "hup", "termg"},
       {w.clean},
       {w.grace, w.kill, w.clean},
       {w.kill, w.clean}},
      {"`--timeout` ends", {}, {w.clean}, {w.stacks, w.grace, w.kill, w.clean}, {w.kill, w.clean}},
      {"a connection ends, or an agent is killed",
       {"cut", "killw", "killg", "killboth"},
       {w.others, w.sweep},
       {w.grace, w.kill, w.sweep},
       {w.kill, w.sweep}},
      {"a host is silent, frozen or overloaded",
       {"silent", "mute", "half", "freeze", "stopw"},
       {w.silence, w.others, w.sweep},
       {w.silence, w.grace, w.kill, w.sweep},
       {w.clean, w.kill, w.sweep}},
      {"a host receives nothing, but sends",
       {"deaf"},
       {w.silence, w.silence, w.others, w.sweep},
       {w.silence, w.silence, w.grace, w.kill, w.sweep},
       {w.grace, w.confirm, w.sweep, w.sweep}},
  };
}

std::string bounds_text(const dlaunch::JobOptions& options) {
  std::string text = "| event | hosts start | ranks run | ranks are being stopped |\n|---|---|---|---|\n";
  for (const Bound& row : bounds(options)) {
    text +=
        "| " + row.fault + " | " + cell(row.starting) + " | " + cell(row.running) + " | " + cell(row.ending) + " |\n";
  }
  return text;
}

std::optional<Ns> bound_while_running(const std::string& kind, const dlaunch::JobOptions& options) {
  for (const Bound& row : bounds(options)) {
    if (std::ranges::find(row.kinds, kind) != row.kinds.end() && !row.running.empty()) return sum(row.running);
  }
  return std::nullopt;
}

/// The times that faults may add: each of them counts with its moment and its length.
static Ns times_of_faults(const Scenario& scenario) {
  Ns all = 0;
  for (const Fault& fault : scenario.faults) {
    const bool stops = kind_of(fault).of == FaultKind::Of::launcher || fault.kind.starts_with("pause");
    all += fault.moment.delay + std::max(fault.length, stops ? 25 * kSecond : 0);
    if (fault.kind == "flap") all += 60 * kSecond;  // each answer is late
  }
  return all;
}

Ns bound_of_end(const Scenario& scenario, const dlaunch::JobOptions& options) {
  const Waits w(options);
  const Ns saving = scenario.preempt ? ns(options.policy.checkpoint.usual_grace) : 0;
  return saving + times_of_faults(scenario) +
         sum({w.stacks, w.others, w.grace, w.kill, w.confirm, w.kill, w.clean, w.sweep, w.sweep, w.reader});
}

Ns bound(const Scenario& scenario, const dlaunch::JobOptions& options) {
  const Waits w(options);
  const std::vector<Wait> round = {w.login,   w.others, w.silence, w.silence, w.stacks, w.grace, w.kill,
                                   w.confirm, w.kill,   w.clean,   w.sweep,   w.sweep,  w.reader};
  const bool suspended = std::ranges::any_of(scenario.faults, [](const Fault& f) { return f.kind == "tstp"; });
  Ns all = scenario.length + scenario.after_first + kSecond + sum(round);
  for (int restart = 0; restart < scenario.restarts; ++restart) {
    all += scenario.length + kSecond + sum(round) + w.lease.most + (suspended ? w.pause.most : 0);
    all += restart == 0 ? 0 : std::min(w.back_off.most, kSecond << std::min(restart - 1, 6));
  }
  if (scenario.spawn > 0) all += (scenario.restarts + 1) * 3 * kSecond;  // their lives begin later
  if (scenario.preempt) all += ns(options.policy.checkpoint.usual_grace);
  return all + times_of_faults(scenario);
}

}  // namespace sim
