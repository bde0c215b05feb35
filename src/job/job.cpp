#include "job/job.h"

#include <csignal>

#include "base/end_signals.h"
#include "dlaunch/error.h"

namespace dlaunch::job {

Job::Job(const Policy& policy, const std::vector<int>& host_of_rank, const std::vector<std::string>& host_names,
         Time now)
    : policy_(policy), hosts_(host_names), ranks_(host_of_rank, host_names.size(), outcome_), preemption_(policy) {
  if (policy_.timeout) at_.timeout = now + *policy_.timeout;
}

Actions Job::handle(const Event& event, Time now) {
  const auto* user = std::get_if<UserSignal>(&event);
  if (user && preemption_.announced_by(user->signal)) {
    preempt({.signal = user->signal, .sender = user->sender}, now);
  } else if (phase_ != Phase::finished) {
    std::visit([&](const auto& e) { on(e, now); }, event);
  } else if (const auto* lost = std::get_if<HostLost>(&event)) {
    lose_for_next_round(*lost);
  } else if (user && is_end_signal(user->signal)) {
    if (outcome_.cause == Cause::success) outcome_.signal = user->signal;
    forbid_restart("received " + signal_name(user->signal) + " while the round was being stopped");
    stop_waiting(Cause::interrupted, kSignalBase + user->signal, now);
  }
  return std::exchange(actions_, {});
}

std::optional<Time> Job::deadline() const {
  std::optional<Time> first;
  for (const auto& each : {at_.first(), kill_before_manager(), preemption_.deadline(), preemption_.ask_at()}) {
    if (each) first = std::min(first.value_or(*each), *each);
  }
  return first;
}

/// Whether the deadline passed. Unsets it then.
static bool passed(std::optional<Time>& deadline, Time now) {
  const bool is_over = deadline && now >= *deadline;
  if (is_over) deadline.reset();
  return is_over;
}

Actions Job::tick(Time now) {
  if (passed(at_.stacks, now)) end_failed(now);
  if (at_.timeout && now >= *at_.timeout) out_of_time(now);
  if (passed(at_.after_first, now)) end_the_others(now);
  if (const auto ask_at = preemption_.ask_at(); ask_at && now >= *ask_at) ask_to_save();
  if (const auto deadline = preemption_.deadline(); deadline && now >= *deadline) end_unsaved(now);
  if (const auto kill_by = kill_before_manager(); kill_by && now >= *kill_by) kill_ranks(now);
  if (passed(at_.confirm_kill, now)) lose_silent_hosts(now);
  act_on_ended_waits(now);
  return std::exchange(actions_, {});
}

/// At most one of these waits exists at a time, so a reaction does not end another wait.
void Job::act_on_ended_waits(Time now) {
  if (passed(at_.others_answer, now)) return no_start(now);
  if (passed(at_.start, now)) return start_or_give_up(now);
  if (passed(at_.kill, now)) return kill_ranks(now);
  if (passed(at_.give_up, now)) {
    give_up_ranks(now);
    finish_when_idle(now);
  } else if (passed(at_.sidecar, now)) {
    finish_hosts(now);
  } else if (passed(at_.reader, now)) {
    if (phase_ == Phase::finished) return end_reader_wait(now);
    leave_undrained();
    finish_hosts(now);
  } else if (passed(at_.clean, now)) {
    if (!lose_unfinished_hosts(now)) give_up_hosts(now);
  }
}

Progress Job::progress() const {
  Progress progress{.phase = phase_,
                    .ranks = ranks_.size(),
                    .started = ranks_.count_started(),
                    .live = ranks_.live(),
                    .started_at = outcome_.started_at,
                    .worlds = ranks_.worlds(),
                    .signal = sent_signal_};
  for (int host = 0; phase_ == Phase::starting && host < hosts_.size(); ++host) {
    if (hosts_.of(host) == HostState::waiting) progress.missing_hosts.push_back(hosts_.name(host));
  }
  if (phase_ == Phase::starting && progress.missing_hosts.empty()) progress.start_at = start_at_;
  if (phase_ != Phase::ending) return progress;
  const auto by = kill_before_manager();
  if (!ranks_.killed()) progress.kill_at = by ? std::min(*by, at_.kill.value_or(*by)) : at_.kill;
  progress.running = ranks_.running();
  return progress;
}

void Job::on(const HostReached& event, Time) { hosts_.set_reached(event.host); }

void Job::on(const HostReady& event, Time now) {
  if (phase_ > Phase::ending || hosts_.of(event.host) != HostState::waiting) return;
  hosts_.set(event.host, HostState::ready);
  hosts_.set_heard(event.host, now, Time::min());
  if (phase_ == Phase::starting) start_or_give_up(now);
}

void Job::on(const FilesReady&, Time now) {
  if (std::exchange(files_, Files::ready) == Files::asked && phase_ == Phase::starting) start_or_give_up(now);
}

/// Does nothing until every host has answered.
void Job::start_or_give_up(Time now) {
  if (hosts_.count(HostState::waiting) > 0) return;
  if (!outcome_.lost_hosts.empty() && files_ != Files::asked) return no_start(now);
  if (files_ == Files::wanted) actions_.push_back(PrepareFiles{});
  if (files_ != Files::ready) {
    files_ = Files::asked;
    return;
  }
  if (start_at_ && now < *start_at_) {
    at_.start = start_at_;
    return;
  }
  phase_ = Phase::running;
  outcome_.started_at = now;
  at_.start.reset();
  ranks_.start();
  if (sidecar_ == Sidecar::expected) sidecar_ = Sidecar::running;
  for (int host = 0; host < hosts_.size(); ++host) {
    hosts_.set(host, HostState::started);
    actions_.push_back(StartRanks{host});
  }
}

void Job::no_start(Time now) {
  const std::string late =
      "its agent was not ready " + std::to_string(kOthersWait.count()) + " s after another host failed";
  for (int host = 0; host < hosts_.size(); ++host) {
    if (hosts_.of(host) == HostState::waiting) outcome_.lost_hosts.push_back({hosts_.name(host), late, ""});
  }
  const LostHost& first = outcome_.lost_hosts.front();
  outcome_.detail = first.name + ": " + first.why;
  const auto lost_at = outcome_.cause_at;
  end_ranks(Cause::host_lost, kExitHostLost, SIGTERM, now);
  outcome_.cause_at = lost_at;
}

/// The next round cannot use a host that is lost now, whether or not the host confirmed the end of this round.
void Job::lose_for_next_round(const HostLost& event) {
  const bool known = std::ranges::any_of(outcome_.lost_hosts,
                                         [&](const LostHost& lost) { return lost.name == hosts_.name(event.host); });
  if (outcome_.may_restart && !known) {
    outcome_.lost_hosts.push_back({hosts_.name(event.host), event.why, event.hint});
  }
}

void Job::on(const HostLost& event, Time now) {
  const HostState state = hosts_.of(event.host);
  if (phase_ >= Phase::finishing) lose_for_next_round(event);
  if (state == HostState::gone || state == HostState::sweeping) return;
  const std::string why = hosts_.name(event.host) + ": " + event.why;
  const bool had_processes = hosts_.had_processes(event.host);
  hosts_.set_gone_by(event.host, event.gone_by);
  blame_silent_host(event, now);
  hosts_.set(event.host, had_processes ? HostState::sweeping : HostState::gone);
  if (had_processes) sweep_host(event.host, now);
  if (phase_ < Phase::finishing && !ranks_.are_on(event.host)) return;
  if (hosts_.had_ranks(event.host)) ranks_.lose_host(event.host, event.why);
  if (phase_ < Phase::finishing) {
    outcome_.lost_hosts.push_back({hosts_.name(event.host), event.why, event.hint});
  }
  if (phase_ == Phase::starting) {
    if (!outcome_.cause_at) outcome_.cause_at = now;
    if (!at_.others_answer) at_.others_answer = now + kOthersWait;
    start_or_give_up(now);
  } else if (phase_ < Phase::ending) {
    outcome_.detail = why;
    end_ranks(Cause::host_lost, kExitHostLost, SIGTERM, now);
  } else {
    finish_when_idle(now);
  }
  finished_when_all_gone(now);
}

void Job::on(const RankStarted& event, Time) { ranks_.started(event); }

void Job::on(const RankEnded& event, Time now) {
  if (!ranks_.ended(event)) return;
  // After the time limit the job waits only for the stacks.
  if (!at_.stacks) on(StacksTaken{}, now);
  const bool waits = policy_.after_first && phase_ == Phase::running && !preemption_.notice();
  if (!std::exchange(one_ended_, true) && waits) at_.after_first = now + *policy_.after_first;
  if (!event.status.ok()) note_failure(event.rank, now);
  finish_when_idle(now);
}

void Job::on(const StartRefused& event, Time now) {
  if (phase_ != Phase::starting) return;
  for (const RankEnded& each : event.ranks) ranks_.refused(each);
  outcome_.cause_at = now;
  end_ranks(Cause::rank_failed, ranks_.first_code(), SIGTERM, now);
}

void Job::on(const RankAborted& event, Time now) {
  if (phase_ <= Phase::ending && ranks_.aborted(event)) note_failure(event.rank, now);
}

void Job::note_failure(int rank, Time now) {
  if (!ranks_.failed(rank)) return;
  if (!failed_at_) failed_at_ = now;
  if (phase_ < Phase::ending) {
    const bool aborted = outcome_.ranks[static_cast<size_t>(rank)].abort_code.has_value();
    const bool ends_all = policy_.abort_on_failure && !preemption_.notice();
    outcome_.cause = Cause::rank_failed;
    if (!outcome_.cause_at) outcome_.cause_at = now;
    if ((ends_all || aborted) && !at_.stacks) return end_after_failure(rank, now);
  }
  if (outcome_.cause != Cause::rank_failed) return;
  const int before = outcome_.exit_code;
  const bool highest = policy_.highest_exit_code && !policy_.abort_on_failure;
  outcome_.exit_code = highest ? std::max(before, ranks_.code_of(rank)) : ranks_.first_code();
}

void Job::on(const HostAdded& event, Time) {
  if (!may_grow()) return;
  hosts_.add(event.name);
  ranks_.add_host();
}

void Job::on(const RanksAdded& event, Time) {
  if (!may_grow()) return;
  for (const int host : ranks_.add(event.host_of_rank)) {
    const bool first = hosts_.of(host) == HostState::ready;
    hosts_.set(host, HostState::started);
    first ? actions_.push_back(StartRanks{host}) : actions_.push_back(StartWorld{ranks_.worlds().last(), host});
  }
}

void Job::on(const RankDrained& event, Time now) {
  if (phase_ != Phase::starting && ranks_.drained(event.rank)) finish_when_idle(now);
}

void Job::on(const SidecarEnded& event, Time now) {
  if (event.status.ok() || phase_ != Phase::running || ranks_.live() == 0) return;
  outcome_.detail = event.detail;
  failed_at_ = now;
  end_ranks(Cause::sidecar_failed, event.status.shell_code(), SIGTERM, now);
}

void Job::on(const SidecarGone&, Time now) {
  sidecar_ = Sidecar::none;
  finish_when_idle(now);
}

void Job::on(const HostClean& event, Time now) {
  for (const std::string& left : event.left) {
    outcome_.leftovers.push_back(hosts_.name(event.host) + ": " + left);
  }
  hosts_.set(event.host, HostState::gone);
  if (!outcome_.may_restart) actions_.push_back(DropHost{event.host});
  finished_when_all_gone(now);
}

/// The launcher sweeps lost hosts in parallel, while the other ranks are stopped.
void Job::sweep_host(int host, Time now) {
  actions_.push_back(SweepHost{host});
  on(SweepDelayed{}, now);
}

void Job::on(const SweepDelayed&, Time now) {
  if (at_.clean) at_.clean = std::max(*at_.clean, now + policy_.grace + kSweepWait);
}

void Job::on(const HostSwept& event, Time now) {
  const int host = event.host;
  if (hosts_.of(host) != HostState::sweeping) return;
  hosts_.set(host, HostState::gone);
  for (const std::string& left : event.left) outcome_.leftovers.push_back(hosts_.name(host) + ": " + left);
  if (!event.unreached.empty()) {
    outcome_.leftovers.push_back(hosts_.name(host) + ": cannot connect again: " + event.unreached);
    outcome_.unswept.push_back({event.host, event.unreached, hosts_.gone_by(event.host)});
  } else if (event.by_manager) {
    outcome_.ended_by_manager.push_back(event.host);
  } else if (event.left.empty()) {
    outcome_.swept.push_back(event.host);
  }
  finished_when_all_gone(now);
}

void Job::on(const UserSignal& event, Time now) {
  const bool again = is_end_signal(event.signal) && std::exchange(user_signalled_, true);
  if (is_end_signal(event.signal))
    forbid_restart("received " + signal_name(event.signal) + " while the round was being stopped");
  if (event.signal == SIGCONT && at_.others_answer) at_.others_answer = now + kOthersWait;
  if (event.signal == SIGTSTP) {
    actions_.push_back(SignalRanks{SIGSTOP});  // orphaned process groups ignore TSTP
    actions_.push_back(StopSelf{});
  } else if (!is_end_signal(event.signal)) {
    actions_.push_back(SignalRanks{event.signal});
  } else if (phase_ < Phase::ending) {
    outcome_.signal = event.signal;
    // The user may not be there to send a second signal.
    if (event.signal != SIGINT && event.signal != SIGQUIT) limit_patience();
    end_ranks(Cause::interrupted, kSignalBase + event.signal, event.signal, now);
  } else if (std::exchange(signalled_at_host_, false)) {
    return;  // the sender of the host's signal also signalled the launcher
  } else if (patience_ = Patience::none;
             phase_ == Phase::ending && ranks_.live() == 0 && (ranks_.undrained() > 0 || sidecar_left())) {
    leave_undrained();
    finish_hosts(now);
  } else if (!ranks_.killed() && (ranks_.live() > 0 || phase_ == Phase::finishing)) {
    kill_ranks(now);  // also kills remaining processes, which the agents are stopping
  } else if (again) {
    give_up_hosts(now);  // the user signals again after KILL: the agents do the rest without the launcher
  }
}

}  // namespace dlaunch::job
