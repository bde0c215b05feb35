// Job's reaction to hosts that do not answer while the job ends.
#include <algorithm>
#include <utility>

#include "dlaunch/error.h"
#include "job/job.h"

namespace dlaunch::job {

void Job::lose(int host) {
  hosts_.set_losing(host);
  actions_.push_back(LoseHost{host, "the agent does not answer"});
}

/// Loses hosts that may not have received KILL. A host that still sends frames, but does not confirm KILL, gets
/// kConfirmWait.
void Job::lose_silent_hosts(Time now) {
  if (phase_ != Phase::ending || ranks_.live() == 0) return;
  for (int host = 0; host < hosts_.size(); ++host) {
    if (!ranks_.live_on(host) || hosts_.is_losing(host)) continue;
    const bool confirmed = hosts_.answers_since(host, *killed_at_);
    const Time until = std::min(std::max(*killed_at_, hosts_.heard(host)) + kKillWait,
                                std::max(*killed_at_, last_output_) + kConfirmWait);
    if (confirmed) {
      if (!at_.give_up) at_.give_up = now;
    } else if (now >= until) {
      lose(host);
    } else {
      at_.confirm_kill = std::min(at_.confirm_kill.value_or(until), until);
    }
  }
}

/// Loses hosts that may not have received Finish. Returns false if there are none.
bool Job::lose_unfinished_hosts(Time now) {
  bool any = false;
  for (int host = 0; host < hosts_.size(); ++host) {
    if (hosts_.of(host) != HostState::finishing || hosts_.is_losing(host)) continue;
    if (hosts_.answers_since(host, *finished_at_)) continue;
    lose(host);
    any = true;
  }
  if (any) at_.clean = now + policy_.grace + kSweepWait;
  return any || ask_unfinished_hosts(now);
}

/// Asks hosts that received Finish for a sign of life, once: a silent host is lost, not given up.
bool Job::ask_unfinished_hosts(Time now) {
  if (hosts_.count(HostState::finishing) == 0 || std::exchange(unfinished_asked_, true)) return false;
  for (int host = 0; host < hosts_.size(); ++host) {
    if (hosts_.of(host) == HostState::finishing && !hosts_.is_losing(host)) actions_.push_back(PingHost{host});
  }
  finished_at_ = now;
  at_.clean = now + kKillWait;
  return true;
}

/// A silent host makes the ranks on other hosts fail. A host that is lost at once, and was heard before, did not.
void Job::blame_silent_host(const HostLost& event, Time now) {
  const Time heard = hosts_.heard(event.host);
  const bool by_failure = outcome_.cause == Cause::rank_failed || outcome_.cause == Cause::sidecar_failed;
  if (!by_failure || !failed_at_ || !hosts_.had_ranks(event.host)) return;
  if (heard >= *failed_at_ || now - heard < kKillWait) return;
  at_.stacks.reset();  // end_ranks() of the loss follows
  if (phase_ < Phase::ending) return;
  outcome_.cause = Cause::host_lost;
  outcome_.cause_at = now;
  outcome_.exit_code = kExitHostLost;
  outcome_.detail = hosts_.name(event.host) + ": " + event.why;
  if (phase_ >= Phase::finishing && !outcome_.may_restart) {
    outcome_.lost_hosts.push_back({hosts_.name(event.host), event.why, event.hint});
  }
}

}  // namespace dlaunch::job
