#include "bound.h"

#include <algorithm>

#include "job/job.h"
#include "job/rounds.h"
#include "launcher/sweeps.h"
#include "link/heartbeat.h"
#include "link/lease.h"
#include "world/faults.h"

namespace sim {
namespace {

template <class Duration>
Ns ns(Duration duration) {
  return std::chrono::nanoseconds(duration).count();
}

}  // namespace

std::vector<Wait> waits_of_round(const dlaunch::JobOptions& options, bool) {
  namespace job = dlaunch::job;
  const Ns grace = ns(options.policy.grace);
  return {
      {"a host answers (--wait-hosts, then one attempt)", ns(options.wait_hosts) + ns(options.ready_wait)},
      {"the other hosts answer after one is lost", ns(job::kOthersWait)},
      {"a silent host is lost", ns(options.heartbeat) * (dlaunch::link::Heartbeat::kMisses + 1)},
      {"stacks are taken before the ranks are stopped", ns(job::kStacksWait)},
      {"ranks end after TERM (--grace)", grace},
      {"ranks end after KILL", ns(job::kKillWait)},
      {"a silent host is lost in the ending", ns(options.heartbeat) * (dlaunch::link::Heartbeat::kMisses + 1)},
      {"output of ended ranks arrives", ns(job::kKillWait)},
      {"hosts confirm that no process is left", grace + ns(job::kFinishWait)},
      {"lost hosts are swept", grace + ns(job::kSweepWait)},
      {"the reader of the output reads", ns(job::kReaderMost)},
  };
}

std::vector<Wait> waits_between_rounds(const dlaunch::JobOptions& options, int restart) {
  namespace job = dlaunch::job;
  const Ns doubled = restart == 0 ? 0 : kSecond << std::min(restart - 1, 6);
  return {
      {"the pause before a restart", std::min(ns(job::Rounds::kLongestWait), doubled)},
      {"the ranks of a lost host have ended (--pause-limit after Ctrl-Z)",
       ns(options.pause_limit) + ns(options.heartbeat) * dlaunch::link::Lease::kBeats + ns(options.policy.grace) +
           ns(job::kKillWait)},
  };
}

Ns bound(const Scenario& scenario, const dlaunch::JobOptions& options) {
  Ns all = scenario.length + kSecond;
  for (int round = 0; round <= scenario.restarts; ++round) {
    for (const Wait& wait : waits_of_round(options, scenario.spares > 0 || scenario.shrink)) all += wait.most;
    if (round == 0) continue;
    all += scenario.length + kSecond;
    for (const Wait& wait : waits_between_rounds(options, round - 1)) all += wait.most;
  }
  if (scenario.preempt) all += ns(options.policy.checkpoint.usual_grace);
  for (const Fault& fault : scenario.faults) {
    const bool stops = kind_of(fault).of == FaultKind::Of::launcher || fault.kind.starts_with("pause");
    all += fault.moment.delay + std::max(fault.length, stops ? 25 * kSecond : 0);
  }
  return all;
}

}  // namespace sim
