// The second half of Job: stops the ranks, finishes the hosts, and waits for the last byte of output.
#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "base/index_cast.h"
#include "dlaunch/error.h"
#include "job/job.h"

namespace dlaunch::job {

static constexpr const char* kTimeIsUp = "the time limit was reached";

/// Requests stacks before the ranks are stopped. Returns whether to wait for them.
bool Job::show_stacks(const std::string& why) {
  if (phase_ != Phase::running || ranks_.live() == 0 || stacks_ != Stacks::wanted) return false;
  stacks_ = Stacks::asked;
  actions_.push_back(TakeStacks{why});
  return true;
}

/// Describes a rank that a fault killed (SIGSEGV etc., also as a shell's exit code); empty for any other end.
std::string Job::fault_of(int rank) const {
  const auto& status = at_index(outcome_.ranks, rank).status;
  constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
  if (!status || std::ranges::find(kFaults, status->shell_code() - kSignalBase) == kFaults.end()) return {};
  return "rank " + ranks_.worlds().name(rank) + ' ' + status->describe();
}

/// If no round may follow a fault, prints the stacks of the other ranks before they are stopped.
void Job::end_after_failure(int rank, Time now) {
  const std::string fault = restart_allowed_ ? "" : fault_of(rank);
  if (fault.empty() || !show_stacks(fault)) {
    return end_ranks(Cause::rank_failed, ranks_.first_code(), SIGTERM, now);
  }
  outcome_.exit_code = ranks_.first_code();
  at_.stacks = now + kStacksWait;
}

void Job::end_failed(Time now) {
  at_.stacks.reset();
  stacks_ = Stacks::none;
  if (phase_ == Phase::running && ranks_.live() > 0) {
    end_ranks(Cause::rank_failed, ranks_.first_code(), SIGTERM, now);
  }
}

/// A rank's failure stays the cause while stacks are collected after the failure.
void Job::end_ranks(Cause cause, int exit_code, int signal, Time now) {
  if (std::exchange(at_.stacks, std::nullopt)) {
    cause = Cause::rank_failed;
    exit_code = ranks_.first_code();
  }
  outcome_.cause = cause;
  outcome_.exit_code = exit_code;
  if (cause != Cause::rank_failed) {
    outcome_.cause_at = cause == Cause::timeout ? out_of_time_at_.value_or(now) : now;
  }
  outcome_.idle = phase_ == Phase::starting || ranks_.live() == 0;
  phase_ = Phase::ending;
  preemption_.over(now);
  if (!signalled_at_host_) ranks_.keep_earlier_ends();
  ranks_.end(now);
  sent_signal_ = signal;
  at_ = {.timeout = at_.timeout, .kill = now + policy_.grace};
  if (sidecar_ == Sidecar::awaited) return finish_hosts(now);
  if (ranks_.live() > 0) {
    actions_.push_back(SignalRanks{signal});
    actions_.push_back(SignalRanks{SIGCONT});  // a stopped rank could not act on it
  }
  finish_when_idle(now);
}

void Job::out_of_time(Time now) {
  if (!out_of_time_at_) out_of_time_at_ = at_.timeout;  // `now` is later if the launcher was stopped
  if (show_stacks("time limit reached")) {
    at_.timeout = now + kStacksWait;
    return;
  }
  at_.timeout.reset();
  limit_patience();
  forbid_restart(kTimeIsUp);
  if (phase_ < Phase::ending) {
    end_ranks(Cause::timeout, policy_.timeout_exit_code, SIGTERM, now);
  } else if (phase_ == Phase::finished) {
    stop_waiting(Cause::timeout, policy_.timeout_exit_code, now);
  } else {
    finish_when_idle(now);
  }
}

/// A job that waits for the stacks of a failed rank ends soon, by that failure.
void Job::on(const OutputFailed& event, Time now) {
  if (phase_ >= Phase::ending || at_.stacks) return;
  end_ranks(Cause::output_failed, event.exit_code, SIGTERM, now);
  if (outcome_.cause == Cause::output_failed) outcome_.detail = event.detail;
}

void Job::on(const InputFailed& event, Time now) {
  if (phase_ >= Phase::ending) return;
  outcome_.detail = event.detail;
  end_ranks(Cause::input_failed, kExitInput, SIGTERM, now);
}

/// If a rank failed before, that failure stays the cause.
void Job::end_the_others(Time now) {
  if (phase_ != Phase::running || ranks_.live() == 0) return;
  const bool failed = outcome_.cause == Cause::rank_failed;
  if (!failed) restart_allowed_ = false;
  end_ranks(failed ? Cause::rank_failed : Cause::timeout, failed ? outcome_.exit_code : policy_.timeout_exit_code,
            SIGTERM, now);
}

/// Ranks may begin to save their state while the launcher writes the stacks of a hang.
void Job::on(const Hung& event, Time now) {
  if (outcome_.hangs.size() < kMostHangs) {
    outcome_.hangs.push_back({event.everyone, event.detail, event.time_ns, event.file});
  }
  const bool ends = event.everyone && policy_.on_hang != OnHang::report;
  if (!ends || phase_ != Phase::running || saves() || stacks_ == Stacks::asked) return;
  if (policy_.on_hang == OnHang::end) restart_allowed_ = false;
  outcome_.detail = event.detail;
  if (!restart_allowed_) limit_patience();
  end_ranks(Cause::hung, policy_.timeout_exit_code, SIGTERM, now);
}

void Job::on(const StacksTaken&, Time now) {
  if (stacks_ != Stacks::asked) return;
  stacks_ = Stacks::none;
  if (at_.stacks) {
    end_failed(now);
  } else if (at_.timeout && out_of_time_at_) {
    out_of_time(now);
  }
}

/// Repeated signals do not delay the resource manager's KILL.
void Job::expect_kill(Time now) {
  if (!policy_.manager_kill_wait || kill_by_) return;
  const auto wait = *policy_.manager_kill_wait;
  kill_by_ = now + std::max(wait / 2, wait - std::clamp(wait / 4, kLeastConfirmWait, kMostConfirmWait));
}

/// When to kill ranks, or the processes that they left, before the resource manager kills the agents.
std::optional<Time> Job::kill_before_manager() const {
  const bool stopping = (phase_ == Phase::ending && ranks_.live() > 0) || phase_ == Phase::finishing;
  return stopping && !ranks_.killed() ? kill_by_ : std::nullopt;
}

void Job::kill_ranks(Time now) {
  ranks_.kill();
  sent_signal_ = SIGKILL;
  actions_.push_back(SignalRanks{SIGKILL});
  killed_at_ = now;
  at_.kill.reset();
  if (phase_ == Phase::ending) {
    at_.give_up = at_.confirm_kill = now + kKillWait;
  } else if (hosts_.count(HostState::sweeping) == 0) {
    at_.clean = now + kFinishWait;  // a sweep has its own time
  }
}

/// Gives up the ranks that live on after their host has confirmed KILL (other hosts: lose_silent_hosts). The job asks
/// these hosts for a sign of life first, and loses a host that then stays silent.
void Job::give_up_ranks(Time now) {
  const bool asks = !ranks_asked_at_;
  if (asks) ranks_asked_at_ = now;
  const Time until = *ranks_asked_at_ + kKillWait;
  for (int host = 0; host < hosts_.size(); ++host) {
    if (!ranks_.live_on(host) || hosts_.is_losing(host) || !hosts_.answers_since(host, *killed_at_)) continue;
    if (asks) actions_.push_back(PingHost{host});
    if (!asks && hosts_.heard(host) > *ranks_asked_at_) {
      ranks_.give_up(host);
    } else if (now >= until) {
      lose(host);
    } else {
      at_.give_up = until;
    }
  }
}

/// Names the ranks that have not ended since KILL. A sweep that found no process proves their end.
void Job::name_stuck_ranks() {
  for (const int rank : ranks_.stuck()) {
    if (std::ranges::find(outcome_.swept, ranks_.host_of(rank)) != outcome_.swept.end()) continue;
    const int pid = at_index(outcome_.ranks, rank).pid;
    outcome_.leftovers.push_back(hosts_.name(ranks_.host_of(rank)) + ": rank " + ranks_.worlds().name(rank) + ", pid " +
                                 std::to_string(pid) + ", did not end after SIGKILL: the host may need a reboot");
  }
}

void Job::finish_when_idle(Time now) {
  if (ranks_.live() > 0 || (phase_ != Phase::running && phase_ != Phase::ending)) return;
  preemption_.over(now);
  at_ = {.timeout = at_.timeout, .stacks = at_.stacks, .sidecar = at_.sidecar};  // no rank is left to kill
  if (ranks_.undrained() > 0) {
    if (patience_ != Patience::endless) wait_for_reader(now);
    return;
  }
  if (!sidecar_left()) return finish_hosts(now);
  if (std::exchange(sidecar_, Sidecar::awaited) == Sidecar::awaited) return;
  at_.sidecar = now + sidecar_wait_;
}

/// If all ranks handle the user's signal and exit with 0, the job succeeded, unless a batch system ended the job.
void Job::settle_interrupted() {
  const auto succeeded = [](const RankRecord& rank) { return rank.status && rank.status->ok(); };
  const bool complete = outcome_.lost_hosts.empty() && !outcome_.unread && !outcome_.unended;
  if (outcome_.cause != Cause::interrupted || outcome_.signalled_at_host || !complete || policy_.in_batch_job) return;
  if (!std::ranges::all_of(outcome_.ranks, succeeded)) return;
  outcome_.cause = Cause::success;
  outcome_.exit_code = 0;
  outcome_.signal = 0;
  outcome_.detail.clear();
  outcome_.cause_at.reset();
}

void Job::finish_hosts(Time now) {
  if (phase_ == Phase::finishing || phase_ == Phase::finished) return;
  phase_ = Phase::finishing;
  settle_preempted();
  finished_at_ = now;
  const bool sweeping = hosts_.count(HostState::sweeping) > 0;
  at_ = {.timeout = at_.timeout, .clean = now + policy_.grace + (sweeping ? kSweepWait : kFinishWait)};
  forbid_late_restart(now);
  outcome_.may_restart = stays_for_restart();
  for (int host = 0; host < hosts_.size(); ++host) {
    if (hosts_.of(host) == HostState::gone || hosts_.of(host) == HostState::sweeping) continue;
    const bool answers = hosts_.is_reached(host);
    hosts_.set(host, answers ? HostState::finishing : HostState::gone);
    if (answers) {
      actions_.push_back(FinishHost{host, outcome_.may_restart});
    } else {
      actions_.push_back(DropHost{host});
    }
  }
  finished_when_all_gone(now);
}

/// The time limit may be over before tick() is called, if this process was stopped.
void Job::forbid_late_restart(Time now) {
  if (out_of_time_at_ || (at_.timeout && now >= *at_.timeout)) forbid_restart(kTimeIsUp);
}

bool Job::stays_for_restart() const {
  const Cause cause = outcome_.cause;
  return restart_allowed_ && (cause == Cause::rank_failed || cause == Cause::host_lost ||
                              cause == Cause::sidecar_failed || cause == Cause::hung);
}

/// `why` is reported if a restart would have followed.
void Job::forbid_restart(std::string why) {
  if (stays_for_restart()) outcome_.no_restart = std::move(why);
  outcome_.may_restart = restart_allowed_ = false;
}

void Job::give_up_hosts(Time now) {
  if (hosts_.count(HostState::finishing) > 0) forbid_restart("some processes of the failed round may be left");
  for (int host = 0; host < hosts_.size(); ++host) {
    if (hosts_.of(host) == HostState::gone) continue;
    const bool heard = !outcome_.cause_at || hosts_.answers_since(host, *outcome_.cause_at);
    if (hosts_.had_ranks(host) && !heard) ranks_.set_unheard(host);
    const std::string why = "the agent did not confirm in time that all processes ended";
    if (hosts_.of(host) != HostState::waiting) outcome_.leftovers.push_back(hosts_.name(host) + ": " + why);
    if (hosts_.of(host) == HostState::sweeping) outcome_.unswept.push_back({host, why, hosts_.gone_by(host)});
    hosts_.set(host, HostState::gone);
    actions_.push_back(DropHost{host});
  }
  phase_ = Phase::finishing;
  finished_when_all_gone(now);
}

void Job::finished_when_all_gone(Time now) {
  if (phase_ != Phase::finishing || hosts_.count(HostState::gone) < hosts_.size()) return;
  phase_ = Phase::finished;
  forbid_late_restart(now);
  outcome_.unread = ranks_.lacks_output();
  outcome_.unended = ranks_.gave_up_output();
  settle_interrupted();
  name_stuck_ranks();
  outcome_.ended_at = now;
  at_ = {.timeout = at_.timeout};
  actions_.push_back(Finished{});
  if (outcome_.unread || patience_ == Patience::none) {
    actions_.push_back(StopWaiting{});
  } else if (patience_ == Patience::limited) {
    wait_for_reader(now);
  }
}

// Job's reaction to hosts that do not answer while the job ends.

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

// Job's waits for the last output of ranks: until it arrives, and until its reader has read it.

/// Gives up output of the ranks that was not read, or did not arrive.
void Job::leave_undrained() {
  if (ranks_.undrained() > 0) outcome_.unread = true;
  ranks_.leave_undrained();
}

void Job::host_heard(int host, Time now, Time answered) {
  hosts_.set_heard(host, now, answered);
  if (at_.give_up && ranks_asked_at_ && ranks_.live_on(host)) at_.give_up = now;
}

void Job::output_arrived(Time now) {
  last_output_ = now;
  if (reader_since_) return reader_took_some(now);
  if (at_.give_up) extend(at_.give_up, now, *killed_at_);
  if (at_.clean) extend(at_.clean, now, *finished_at_);
}

/// A process that KILL does not end, or a daemon, may write without end. So output counts up to kReaderMost after a
/// message that all hosts have confirmed.
void Job::extend(std::optional<Time>& deadline, Time now, Time sent) {
  bool all_confirmed = true;
  for (int host = 0; host < hosts_.size(); ++host) {
    const HostState state = hosts_.of(host);
    const bool expected = state == HostState::started || state == HostState::finishing;
    all_confirmed = all_confirmed && (!expected || hosts_.answers_since(host, sent));
  }
  const Time until = all_confirmed ? std::min(now + kKillWait, sent + kReaderMost) : now + kKillWait;
  deadline = std::max(*deadline, until);
}

void Job::reader_took_some(Time now) {
  if (at_.reader) wait_for_reader(now);
}

void Job::wait_for_reader(Time now) {
  if (!reader_since_) reader_since_ = now;
  at_.reader = std::min(now + kReaderWait, *reader_since_ + kReaderMost);
}

/// The reader has not read the output of the ended job in time.
void Job::end_reader_wait(Time now) {
  if (out_of_time_at_) return stop_waiting(Cause::timeout, policy_.timeout_exit_code, now);
  actions_.push_back(StopWaiting{});
}

/// `cause` becomes the job's cause if everything else succeeded. A time limit has its own time, before the wait for the
/// reader.
void Job::stop_waiting(Cause cause, int exit_code, Time now) {
  if (outcome_.cause == Cause::success) {
    outcome_.cause = cause;
    outcome_.exit_code = exit_code;
    outcome_.cause_at = cause == Cause::timeout ? out_of_time_at_.value_or(now) : now;
  }
  actions_.push_back(StopWaiting{});
}

}  // namespace dlaunch::job
