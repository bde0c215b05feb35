// The second half of Job: from the first signal to its ranks, or the end of the last one, to the last host and the last
// byte.
#include <algorithm>
#include <csignal>
#include <utility>

#include "job/job.h"

namespace dlaunch::job {

void Job::end_ranks(Cause cause, int exit_code, int signal, Time now) {
  outcome_.cause = cause;
  outcome_.exit_code = exit_code;
  phase_ = Phase::ending;
  ranks_.end();
  sent_signal_ = signal;
  phase_deadline_ = now + policy_.grace;
  if (sidecar_awaited_) return finish_hosts(now);
  if (ranks_.live() > 0) {
    actions_.push_back(SignalRanks{signal});
    actions_.push_back(SignalRanks{SIGCONT});  // a stopped rank could not act on it
  }
  finish_when_idle(now);
}

void Job::kill_ranks(Time now) {
  ranks_.kill();
  sent_signal_ = SIGKILL;
  actions_.push_back(SignalRanks{SIGKILL});
  phase_deadline_ = now + (phase_ == Phase::finishing ? kFinishWait : kKillWait);
}

void Job::give_up_ranks() {
  for (const int rank : ranks_.give_up()) {
    const int pid = outcome_.ranks[static_cast<size_t>(rank)].pid;
    outcome_.leftovers.push_back(hosts_.name(ranks_.host_of(rank)) + ": rank " + ranks_.worlds().name(rank) + ", pid " +
                                 std::to_string(pid) + ", did not end after SIGKILL: the host may need a restart");
  }
}

void Job::finish_when_idle(Time now) {
  if (ranks_.live() > 0 || (phase_ != Phase::running && phase_ != Phase::ending)) return;
  if (!sidecar_awaited_) phase_deadline_.reset();  // nobody is left to kill
  if (ranks_.undrained() > 0) {
    if (hurried_) wait_for_reader(now);
    return;
  }
  if (!sidecar_left_) return finish_hosts(now);
  if (std::exchange(sidecar_awaited_, true)) return;
  phase_deadline_ = now + kSidecarWait;
}

/// Stops waiting for the rest of the ranks' output.
void Job::leave_undrained() {
  if (ranks_.undrained() > 0) outcome_.unread = true;
  ranks_.leave_undrained();
}

void Job::finish_hosts(Time now) {
  if (phase_ == Phase::finishing || phase_ == Phase::finished) return;
  phase_ = Phase::finishing;
  const bool sweeping = hosts_.count(HostState::sweeping) > 0;
  phase_deadline_ = now + policy_.grace + (sweeping ? kSweepWait : kFinishWait);
  for (int host = 0; host < hosts_.size(); ++host) {
    if (hosts_.of(host) == HostState::gone || hosts_.of(host) == HostState::sweeping) continue;
    const bool answers = hosts_.of(host) != HostState::waiting;
    hosts_.set(host, answers ? HostState::finishing : HostState::gone);
    if (answers) {
      actions_.push_back(FinishHost{host});
    } else {
      actions_.push_back(DropHost{host});
    }
  }
  finished_when_all_gone(now);
}

void Job::give_up_hosts(Time now) {
  for (int host = 0; host < hosts_.size(); ++host) {
    if (hosts_.of(host) == HostState::gone) continue;
    const std::string why = "did not confirm in time that nothing is left";
    if (hosts_.of(host) != HostState::waiting) outcome_.leftovers.push_back(hosts_.name(host) + ": " + why);
    if (hosts_.of(host) == HostState::sweeping) outcome_.unswept.push_back({host, "it " + why});
    hosts_.set(host, HostState::gone);
    actions_.push_back(DropHost{host});
  }
  phase_ = Phase::finishing;
  finished_when_all_gone(now);
}

void Job::finished_when_all_gone(Time now) {
  if (phase_ != Phase::finishing || hosts_.count(HostState::gone) < hosts_.size()) return;
  phase_ = Phase::finished;
  phase_deadline_.reset();
  actions_.push_back(Finished{});
  if (outcome_.unread || impatient_) {
    actions_.push_back(StopWaiting{});
  } else if (hurried_) {
    wait_for_reader(now);
  }
}

void Job::heard_output(Time now) {
  if (reader_since_) return reader_took_some(now);
  const bool giving_up_next = (phase_ == Phase::ending && ranks_.killed()) || phase_ == Phase::finishing;
  if (giving_up_next && phase_deadline_) phase_deadline_ = std::max(*phase_deadline_, now + kKillWait);
}

void Job::reader_took_some(Time now) {
  const bool waited_for = phase_ == Phase::ending || phase_ == Phase::finished;
  if (reader_since_ && waited_for && phase_deadline_) wait_for_reader(now);
}

void Job::wait_for_reader(Time now) {
  if (!reader_since_) reader_since_ = now;
  phase_deadline_ = std::min(now + kReaderWait, *reader_since_ + kReaderMost);
}

/// `cause` becomes the job's if only the output's reader kept it from success.
void Job::stop_waiting(Cause cause, int exit_code) {
  if (outcome_.cause == Cause::success) {
    outcome_.cause = cause;
    outcome_.exit_code = exit_code;
  }
  actions_.push_back(StopWaiting{});
}

}  // namespace dlaunch::job
