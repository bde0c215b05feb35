#include "bound.h"

#include <algorithm>
#include <numeric>

#include "job/job.h"
#include "job/rounds.h"
#include "link/heartbeat.h"
#include "world/faults.h"

namespace sim {
namespace {

namespace job = dlaunch::job;

template <class Duration>
Ns ns(Duration duration) {
  return std::chrono::nanoseconds(duration).count();
}

/// The limit of each wait of a job.
struct Waits {
  explicit Waits(const dlaunch::JobOptions& o)
      : login(ns(o.wait_hosts) + ns(o.ready_wait)),
        others(ns(job::kOthersWait)),
        silence(ns(o.heartbeat) * dlaunch::link::Heartbeat::kMisses),
        stacks(ns(job::kStacksWait)),
        grace(ns(o.policy.grace)),
        kill(ns(job::kKillWait)),
        confirm(ns(job::kConfirmWait)),
        clean(ns(o.policy.grace) + ns(job::kFinishWait)),
        sweep(ns(o.policy.grace) + ns(job::kSweepWait)),
        reader(ns(job::kReaderMost)),
        lease(ns(o.heartbeat) * dlaunch::link::Lease::kBeats + ns(o.policy.grace) + ns(job::kKillWait)),
        pause(ns(o.pause_limit)),
        back_off(ns(job::Rounds::kLongestWait)) {}

  Ns login;
  Ns others;   ///< the other hosts answer
  Ns silence;  ///< of a host, until the host is lost
  Ns stacks, grace, kill;
  Ns confirm;  ///< the agent confirms KILL
  Ns clean;    ///< the hosts confirm the end
  Ns sweep;    ///< a new login to a lost host, and the end of the processes there
  Ns reader;   ///< the reader of the output reads
  Ns lease;    ///< the lease of an agent ends
  Ns pause;
  Ns back_off;  ///< before a restart
};

Ns sum(const std::vector<Ns>& waits) { return std::accumulate(waits.begin(), waits.end(), Ns{0}); }

std::string cell(const std::vector<Ns>& waits) { return waits.empty() ? "–" : seconds_text(sum(waits)) + " s"; }

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
  const std::vector<Ns> round = {w.login,   w.others, w.silence, w.silence, w.stacks, w.grace, w.kill,
                                 w.confirm, w.kill,   w.clean,   w.sweep,   w.sweep,  w.reader};
  const bool suspended = std::ranges::any_of(scenario.faults, [](const Fault& f) { return f.kind == "tstp"; });
  Ns all = scenario.length + scenario.after_first + kSecond + sum(round);
  for (int restart = 0; restart < scenario.restarts; ++restart) {
    all += scenario.length + kSecond + sum(round) + w.lease + (suspended ? w.pause : 0);
    all += restart == 0 ? 0 : std::min(w.back_off, kSecond << std::min(restart - 1, 6));
  }
  if (scenario.spawn > 0) all += (scenario.restarts + 1) * 3 * kSecond;  // their lives begin later
  if (scenario.preempt) all += ns(options.policy.checkpoint.usual_grace);
  return all + times_of_faults(scenario);
}

}  // namespace sim
