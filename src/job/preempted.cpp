// Job's reaction to preemption and to signals from outside (job/preemption.h).
#include <algorithm>
#include <csignal>

#include "base/end_signals.h"
#include "dlaunch/error.h"
#include "job/job.h"

namespace dlaunch::job {

/// KILL means that the batch system killed the processes on the host: the job ends in the same way as after TERM, and
/// ranks that were killed with the agent are not failures. After a preemption notice KILL is ignored: the deadline
/// follows anyway.
void Job::on(const HostTermination& event, Time now) {
  const bool killed = event.signal == SIGKILL;
  if (killed && preemption_.notice()) return;
  if (!killed && !is_end_signal(event.signal) && !preemption_.announced_by(event.signal)) {
    if (!event.direct) actions_.push_back(SignalRanks{event.signal, event.host});
    return;
  }
  const int signal = killed ? SIGTERM : event.signal;
  if (event.signal == SIGTERM) expect_kill(now);
  if (!killed && event.direct) preemption_.add_signalled(event.host, event.signal);
  outcome_.may_restart = restart_allowed_ = false;
  const bool rank_failed = outcome_.cause == Cause::rank_failed;
  ranks_.signalled_from_outside(event);
  const bool late = phase_ >= Phase::ending && !preemption_.notice();
  const bool blamed_rank_cleared = rank_failed && !outcome_.first_failure;
  if (blamed_rank_cleared) at_.stacks.reset();  // no rank's failure ends the job
  if (preemption_.announced_by(event.signal) && !late) {
    if (blamed_rank_cleared) {  // the same signal ended the rank
      outcome_.cause = Cause::success;
      outcome_.exit_code = 0;
      outcome_.cause_at.reset();
    }
    return preempt({.signal = event.signal, .at_host = true}, now);
  }
  const bool known = outcome_.cause == Cause::interrupted && outcome_.signal == signal;
  if (phase_ >= Phase::ending && !blamed_rank_cleared && !known) return;
  if (outcome_.detail.empty()) outcome_.detail = event.who;
  outcome_.signalled_at_host = true;
  outcome_.signal = signal;
  if (phase_ < Phase::ending) {
    limit_patience();
    signalled_at_host_ = true;
    return end_ranks(Cause::interrupted, kSignalBase + signal, signal, now);
  }
  outcome_.cause = Cause::interrupted;
  outcome_.exit_code = kSignalBase + signal;
  if (!known) outcome_.cause_at = now;
}

/// A job without running ranks has no state to save.
void Job::preempt(const Preempted& notice, Time now) {
  outcome_.may_restart = restart_allowed_ = false;
  limit_patience();
  if (phase_ == Phase::finished) return wait_for_reader(now);
  if (phase_ >= Phase::ending && !preemption_.notice()) return finish_when_idle(now);
  const bool stopping = at_.stacks || out_of_time_at_;  // as soon as the stacks are printed
  if (stopping && !preemption_.notice()) return;
  if (phase_ == Phase::running && ranks_.live() == 0) return finish_when_idle(now);
  at_.after_first.reset();  // the ranks have until the deadline to save their state
  const auto step = preemption_.notify(notice, now);
  outcome_.preempted = preemption_.notice();
  if (phase_ == Phase::starting) return end_ranks(Cause::preempted, policy_.checkpoint.exit_code, SIGTERM, now);
  if (step == Preemption::Step::begin) {
    if (!preemption_.ask_at()) ask_to_save();
  } else if (step == Preemption::Step::kill) {
    if (phase_ == Phase::running) end_unsaved(now);
    if (ranks_.live() > 0 && !ranks_.killed()) kill_ranks(now);
  }
}

void Job::ask_to_save() {
  const Time deadline = std::min(*preemption_.deadline(), at_.timeout.value_or(Time::max()));
  actions_.push_back(CheckpointRanks{policy_.checkpoint.signal, deadline, preemption_.take_signalled()});
  actions_.push_back(SignalRanks{SIGCONT});  // a stopped rank could not act on it
}

/// Stops the ranks that still run at the deadline.
void Job::end_unsaved(Time now) {
  const bool failed = outcome_.cause == Cause::rank_failed;
  end_ranks(failed ? Cause::rank_failed : Cause::preempted, failed ? outcome_.exit_code : kSignalBase + SIGTERM,
            SIGTERM, now);
}

/// After a notice, the cause is `preempted`, unless a rank failed or another reason ended the job.
void Job::settle_preempted() {
  if (!preemption_.notice()) return;
  ranks_.keep_earlier_ends();
  outcome_.preempted = preemption_.notice();
  if (outcome_.cause != Cause::success && outcome_.cause != Cause::preempted) return;
  const bool saved =
      std::ranges::none_of(outcome_.ranks, [](const RankRecord& rank) { return rank.status && !rank.status->ok(); });
  outcome_.cause = Cause::preempted;
  outcome_.cause_at = preemption_.since();
  outcome_.exit_code = saved ? policy_.checkpoint.exit_code : kSignalBase + SIGTERM;
}

}  // namespace dlaunch::job
