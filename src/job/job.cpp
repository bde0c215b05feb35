#include "job/job.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/nth.h"
#include "dlaunch/error.h"
#include "job/first_failure.h"

namespace dlaunch::job {
namespace {

constexpr int kSignalBase = 128;

}  // namespace

bool ends_a_job(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT; }

Job::Job(Policy policy, std::vector<int> host_of_rank, std::vector<std::string> host_names, Time now)
    : policy_(policy),
      host_of_rank_(std::move(host_of_rank)),
      host_names_(std::move(host_names)),
      ranks_of_host_(host_names_.size()),
      hosts_(host_names_.size(), HostState::waiting),
      waiting_hosts_(static_cast<int>(host_names_.size())),
      hosts_not_gone_(waiting_hosts_) {
  for (size_t rank = 0; rank < host_of_rank_.size(); ++rank) {
    ranks_of_host_[static_cast<size_t>(host_of_rank_[rank])].push_back(static_cast<int>(rank));
  }
  outcome_.ranks.resize(host_of_rank_.size());
  drained_.resize(host_of_rank_.size());
  if (policy_.timeout) timeout_at_ = now + *policy_.timeout;
}

Actions Job::handle(const Event& event, Time now) {
  if (phase_ != Phase::finished) {
    std::visit([&](const auto& e) { on(e, now); }, event);
  } else if (const auto* user = std::get_if<UserSignal>(&event); user && ends_a_job(user->signal)) {
    outcome_.signal = user->signal;
    stop_waiting(Cause::interrupted, kSignalBase + user->signal);
  }
  return std::exchange(actions_, {});
}

void Job::heard_output(Time now) {
  if (reader_since_) return reader_took_some(now);
  const bool giving_up_next = (phase_ == Phase::ending && killed_) || phase_ == Phase::finishing;
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

std::optional<Time> Job::deadline() const {
  if (!timeout_at_) return phase_deadline_;
  return phase_deadline_ ? std::min(*timeout_at_, *phase_deadline_) : timeout_at_;
}

Actions Job::tick(Time now) {
  if (timeout_at_ && now >= *timeout_at_) {
    timeout_at_.reset();
    hurried_ = true;
    if (phase_ < Phase::ending) {
      end_ranks(Cause::timeout, policy_.timeout_exit_code, SIGTERM, now);
    } else if (phase_ == Phase::finished) {
      stop_waiting(Cause::timeout, policy_.timeout_exit_code);
    } else {
      finish_when_idle(now);
    }
  }
  if (phase_deadline_ && now >= *phase_deadline_) {
    phase_deadline_.reset();
    switch (phase_) {
      case Phase::ending:
        if (companion_awaited_) {
          finish_hosts(now);
        } else if (live_ == 0) {
          leave_undrained();
          finish_hosts(now);
        } else if (killed_) {
          give_up_ranks();
          finish_hosts(now);
        } else {
          kill_ranks(now);
        }
        break;
      case Phase::finishing:
        give_up_hosts(now);
        break;
      case Phase::starting:
        no_start(now);
        break;
      case Phase::running:
        finish_hosts(now);
        break;
      case Phase::finished:
        stop_waiting(Cause::timeout, policy_.timeout_exit_code);
        break;
    }
  }
  return std::exchange(actions_, {});
}

Progress Job::progress() const {
  Progress progress{phase_, static_cast<int>(outcome_.ranks.size()), started_, {}, worlds_, {}, sent_signal_, {}};
  for (size_t host = 0; phase_ == Phase::starting && host < hosts_.size(); ++host) {
    if (hosts_[host] == HostState::waiting) progress.missing_hosts.push_back(host_names_[host]);
  }
  if (phase_ != Phase::ending) return progress;
  if (!killed_) progress.kill_at = phase_deadline_;
  for (size_t rank = 0; rank < outcome_.ranks.size(); ++rank) {
    const RankRecord& record = outcome_.ranks[rank];
    if (record.pid != 0 && !record.status) progress.running.insert(static_cast<int>(rank));
  }
  return progress;
}

void Job::on(const HostReady& event, Time now) {
  const auto host = static_cast<size_t>(event.host);
  if (phase_ > Phase::ending || hosts_[host] != HostState::waiting) return;
  set_state(host, HostState::ready);
  if (phase_ == Phase::starting) start_or_give_up(now);
}

/// Does nothing until every host has answered.
void Job::start_or_give_up(Time now) {
  if (waiting_hosts_ > 0) return;
  if (!outcome_.lost_hosts.empty()) return no_start(now);
  phase_ = Phase::running;
  phase_deadline_.reset();
  live_ = undrained_ = static_cast<int>(host_of_rank_.size());
  companion_left_ = companion_expected_;
  for (size_t host = 0; host < hosts_.size(); ++host) {
    set_state(host, HostState::started);
    actions_.push_back(StartRanks{static_cast<int>(host)});
  }
}

void Job::no_start(Time now) {
  for (size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host] == HostState::waiting) outcome_.lost_hosts.push_back({host_names_[host], "no answer yet", ""});
  }
  const LostHost& first = outcome_.lost_hosts.front();
  outcome_.detail = first.name + ": " + first.why;
  end_ranks(Cause::host_lost, kExitHostLost, SIGTERM, now);
}

void Job::on(const HostLost& event, Time now) {
  const HostState state = nth(hosts_, event.host);
  if (state == HostState::gone || state == HostState::sweeping) return;
  const std::string why = nth(host_names_, event.host) + ": " + event.why;
  const bool had_ranks = had_ranks_.contains(event.host);
  set_state(static_cast<size_t>(event.host), had_ranks ? HostState::sweeping : HostState::gone);
  if (had_ranks) sweep_host(event.host, now);
  if (phase_ < Phase::finishing && nth(ranks_of_host_, event.host).empty()) return;
  lose_host_ranks(event.host, event.why);
  if (phase_ < Phase::finishing) {
    outcome_.lost_hosts.push_back({nth(host_names_, event.host), event.why, event.hint});
  }
  if (phase_ == Phase::starting) {
    if (!phase_deadline_) phase_deadline_ = now + kOthersWait;
    start_or_give_up(now);
  } else if (phase_ < Phase::ending) {
    outcome_.detail = why;
    end_ranks(Cause::host_lost, kExitHostLost, SIGTERM, now);
  } else {
    finish_when_idle(now);
  }
  finished_when_all_gone(now);
}

void Job::on(const RankStarted& event, Time) {
  RankRecord& record = nth(outcome_.ranks, event.rank);
  record.pid = event.pid;
  record.start_ns = event.time_ns;
  record.cpus = event.cpus;
  ++started_;
}

void Job::on(const RankEnded& event, Time now) {
  RankRecord& record = nth(outcome_.ranks, event.rank);
  if (record.status) return;
  record_end(event.rank, event.status, event.time_ns);
  if (!event.status.ok()) note_failure(event.rank, now);
  finish_when_idle(now);
}

void Job::on(const RankAborted& event, Time now) {
  RankRecord& record = nth(outcome_.ranks, event.rank);
  if (phase_ > Phase::ending || record.status || record.abort_code) return;
  record.abort_code = event.code;
  record.end_ns = event.time_ns;
  record.ended_by_us = phase_ == Phase::ending && follows(record);
  note_failure(event.rank, now);
}

void Job::on(const HostAdded& event, Time) {
  if (!may_grow()) return;
  host_names_.push_back(event.name);
  ranks_of_host_.emplace_back();
  hosts_.push_back(HostState::waiting);
  ++waiting_hosts_;
  ++hosts_not_gone_;
}

void Job::on(const RanksAdded& event, Time) {
  if (!may_grow()) return;
  const int world = worlds_.begin(static_cast<int>(host_of_rank_.size()));
  std::set<int> hosts;
  for (const int host : event.host_of_rank) {
    nth(ranks_of_host_, host).push_back(static_cast<int>(host_of_rank_.size()));
    host_of_rank_.push_back(host);
    hosts.insert(host);
  }
  outcome_.ranks.resize(host_of_rank_.size());
  drained_.resize(host_of_rank_.size());
  live_ += static_cast<int>(event.host_of_rank.size());
  undrained_ += static_cast<int>(event.host_of_rank.size());
  for (const int host : hosts) {
    const bool first = nth(hosts_, host) == HostState::ready;
    set_state(static_cast<size_t>(host), HostState::started);
    first ? actions_.push_back(StartRanks{host}) : actions_.push_back(StartWorld{world, host});
  }
}

void Job::on(const RankDrained& event, Time now) {
  if (phase_ == Phase::starting || nth(drained_, event.rank)) return;
  nth(drained_, event.rank) = true;
  --undrained_;
  finish_when_idle(now);
}

void Job::on(const SidecarEnded& event, Time now) {
  if (event.status.ok() || phase_ != Phase::running || live_ == 0) return;
  outcome_.detail = event.detail;
  end_ranks(Cause::sidecar_failed, event.status.shell_code(), SIGTERM, now);
}

void Job::on(const SidecarGone&, Time now) {
  companion_left_ = false;
  finish_when_idle(now);
}

void Job::on(const HostClean& event, Time now) {
  for (const std::string& left : event.left) {
    outcome_.leftovers.push_back(nth(host_names_, event.host) + ": " + left);
  }
  set_state(static_cast<size_t>(event.host), HostState::gone);
  actions_.push_back(DropHost{event.host});
  finished_when_all_gone(now);
}

/// The launcher connects to all hosts to be swept side by side, while the other ranks are being ended.
void Job::sweep_host(int host, Time now) {
  actions_.push_back(SweepHost{host});
  if (phase_ == Phase::finishing && phase_deadline_) {
    phase_deadline_ = std::max(*phase_deadline_, now + policy_.grace + kSweepWait);
  }
}

void Job::on(const HostSwept& event, Time now) {
  const auto host = static_cast<size_t>(event.host);
  if (hosts_[host] != HostState::sweeping) return;
  set_state(host, HostState::gone);
  for (const std::string& left : event.left) outcome_.leftovers.push_back(host_names_[host] + ": " + left);
  if (!event.unreached.empty()) {
    outcome_.leftovers.push_back(host_names_[host] + ": not reached again: " + event.unreached);
    outcome_.unswept.push_back({event.host, event.unreached});
  } else if (event.left.empty()) {
    outcome_.swept.push_back(event.host);
  }
  finished_when_all_gone(now);
}

void Job::on(const UserSignal& event, Time now) {
  if (event.signal == SIGTSTP) {
    actions_.push_back(SignalRanks{SIGSTOP});  // TSTP itself is ignored by groups without a terminal's session
    actions_.push_back(StopSelf{});
  } else if (!ends_a_job(event.signal)) {
    actions_.push_back(SignalRanks{event.signal});
  } else if (phase_ < Phase::ending) {
    outcome_.signal = event.signal;
    hurried_ = event.signal == SIGTERM || event.signal == SIGHUP;  // nobody is there to send a second signal
    end_ranks(Cause::interrupted, kSignalBase + event.signal, event.signal, now);
  } else if (hurried_ = impatient_ = true;
             phase_ == Phase::ending && live_ == 0 && (undrained_ > 0 || companion_left_)) {
    leave_undrained();
    finish_hosts(now);
  } else if (!killed_ && (live_ > 0 || phase_ == Phase::finishing)) {
    kill_ranks(now);  // also ends what ranks left behind, which the agents are ending
  } else {
    give_up_hosts(now);  // ranks were killed and the user asks again: the agents end the rest without us
  }
}

void Job::on(const OutputFailed& event, Time now) {
  if (phase_ >= Phase::ending) return;
  outcome_.detail = event.detail;
  end_ranks(Cause::output_failed, event.exit_code, SIGTERM, now);
}

void Job::record_end(int rank, const ExitStatus& status, std::int64_t time_ns) {
  RankRecord& record = nth(outcome_.ranks, rank);
  record.status = record.abort_code ? ExitStatus(Aborted{*record.abort_code}) : status;
  if (!record.abort_code) record.end_ns = time_ns;
  record.needed_kill = killed_;
  --live_;
  if (phase_ != Phase::ending || std::holds_alternative<NotStarted>(status.value())) return;
  record.ended_by_us = follows(record);
}

/// A failure before the one that was reported first is a cause. A later one follows from our signal or a peer's end.
bool Job::follows(const RankRecord& record) const {
  const auto first = outcome_.first_failure;
  return !first || before(nth(outcome_.ranks, *first), record);
}

int Job::first_code() const {
  const RankRecord& record = nth(outcome_.ranks, *outcome_.first_failure);
  return record.abort_code ? ExitStatus(Aborted{*record.abort_code}).shell_code() : record.status->shell_code();
}

void Job::note_failure(int rank, Time now) {
  const RankRecord& record = nth(outcome_.ranks, rank);
  if (record.ended_by_us) return;
  const auto first = outcome_.first_failure;
  if (!first || before(record, nth(outcome_.ranks, *first))) {
    outcome_.first_failure = rank;
    if (outcome_.cause == Cause::rank_failed) outcome_.exit_code = first_code();
  }
  if (phase_ >= Phase::ending) return;
  if (policy_.abort_on_failure || record.abort_code) {
    end_ranks(Cause::rank_failed, first_code(), SIGTERM, now);
  } else {
    outcome_.cause = Cause::rank_failed;
    outcome_.exit_code = first_code();
  }
}

void Job::end_ranks(Cause cause, int exit_code, int signal, Time now) {
  outcome_.cause = cause;
  outcome_.exit_code = exit_code;
  phase_ = Phase::ending;
  sent_signal_ = signal;
  phase_deadline_ = now + policy_.grace;
  if (companion_awaited_) return finish_hosts(now);
  if (live_ > 0) {
    actions_.push_back(SignalRanks{signal});
    actions_.push_back(SignalRanks{SIGCONT});  // a stopped rank could not act on it
  }
  finish_when_idle(now);
}

void Job::kill_ranks(Time now) {
  killed_ = true;
  sent_signal_ = SIGKILL;
  actions_.push_back(SignalRanks{SIGKILL});
  phase_deadline_ = now + (phase_ == Phase::finishing ? kFinishWait : kKillWait);
}

void Job::give_up_ranks() {
  for (size_t rank = 0; rank < outcome_.ranks.size(); ++rank) {
    RankRecord& record = outcome_.ranks[rank];
    if (record.pid == 0 || record.status) continue;
    const std::string& host = host_names_[static_cast<size_t>(host_of_rank_[rank])];
    outcome_.leftovers.push_back(host + ": rank " + worlds_.name(static_cast<int>(rank)) + ", pid " +
                                 std::to_string(record.pid) +
                                 ", did not end after SIGKILL: the host may need a restart");
    record.status = ExitStatus(Lost{"did not end after SIGKILL"});
  }
  live_ = 0;
}

void Job::finish_when_idle(Time now) {
  if (live_ > 0 || (phase_ != Phase::running && phase_ != Phase::ending)) return;
  if (!companion_awaited_) phase_deadline_.reset();  // nobody is left to kill
  if (undrained_ > 0) {
    if (hurried_) wait_for_reader(now);
    return;
  }
  if (!companion_left_) return finish_hosts(now);
  if (std::exchange(companion_awaited_, true)) return;
  phase_deadline_ = now + kCompanionWait;
}

/// Stops waiting for the rest of the ranks' output.
void Job::leave_undrained() {
  if (undrained_ > 0) outcome_.unread = true;
  undrained_ = 0;
}

void Job::finish_hosts(Time now) {
  if (phase_ == Phase::finishing || phase_ == Phase::finished) return;
  phase_ = Phase::finishing;
  const bool sweeping = std::ranges::count(hosts_, HostState::sweeping) > 0;
  phase_deadline_ = now + policy_.grace + (sweeping ? kSweepWait : kFinishWait);
  for (size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host] == HostState::gone || hosts_[host] == HostState::sweeping) continue;
    const bool answers = hosts_[host] != HostState::waiting;
    set_state(host, answers ? HostState::finishing : HostState::gone);
    if (answers) {
      actions_.push_back(FinishHost{static_cast<int>(host)});
    } else {
      actions_.push_back(DropHost{static_cast<int>(host)});
    }
  }
  finished_when_all_gone(now);
}

void Job::give_up_hosts(Time now) {
  for (size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host] == HostState::gone) continue;
    const std::string why = "did not confirm in time that nothing is left";
    if (hosts_[host] != HostState::waiting) outcome_.leftovers.push_back(host_names_[host] + ": " + why);
    if (hosts_[host] == HostState::sweeping) outcome_.unswept.push_back({static_cast<int>(host), "it " + why});
    set_state(host, HostState::gone);
    actions_.push_back(DropHost{static_cast<int>(host)});
  }
  phase_ = Phase::finishing;
  finished_when_all_gone(now);
}

void Job::finished_when_all_gone(Time now) {
  if (phase_ != Phase::finishing) return;
  if (hosts_not_gone_ > 0) return;
  phase_ = Phase::finished;
  phase_deadline_.reset();
  actions_.push_back(Finished{});
  if (outcome_.unread || impatient_) {
    actions_.push_back(StopWaiting{});
  } else if (hurried_) {
    wait_for_reader(now);
  }
}

void Job::lose_host_ranks(int host, const std::string& why) {
  if (phase_ == Phase::starting) return;
  for (const int rank : nth(ranks_of_host_, host)) {
    RankRecord& record = nth(outcome_.ranks, rank);
    if (record.status) continue;
    record.status = ExitStatus(Lost{why});
    record.ended_by_us = phase_ >= Phase::ending;
    --live_;
  }
}

void Job::set_state(size_t host, HostState state) {
  if (hosts_[host] == HostState::waiting) --waiting_hosts_;
  if (state == HostState::gone && hosts_[host] != HostState::gone) --hosts_not_gone_;
  if (state == HostState::started) had_ranks_.insert(static_cast<int>(host));
  hosts_[host] = state;
}

}  // namespace dlaunch::job
