// Promises about rounds: one process of a rank at a time; a failure that a restart can fix is followed by one.
#include <csignal>

#include "base/end_signals.h"
#include "job/job.h"
#include "job/rounds.h"
#include "promises/promises.h"

namespace sim {

namespace job = dlaunch::job;

void OneOfARank::began(const Process& process) {
  if (process.kind != Process::Kind::rank) return;
  // An agent that was stopped, and that the launcher's end cannot reach, starts its ranks within its lease.
  // After a second signal of the user, dlaunch does not wait for answers.
  const bool hurried = history_.count(FaultKind::Of::user) > 1;
  if (!world_.launcher_there() && !world_.host(process.host).in_blocked && !hurried)
    broke("a rank starts after the job's end");
  for (const auto& [pid, other] : world_.processes().all()) {
    if (pid == process.pid || !other.alive || other.kind != Process::Kind::rank || other.rank != process.rank) continue;
    // A frozen host, a stopped agent, and a process in uninterruptible sleep; docs/restart-after-failure.md describes
    // these limits.
    const Process* worker =
        world_.processes().find(world_.network().agents()[static_cast<size_t>(other.agent)]->worker);
    const bool refused = history_.refusing().contains(other.host) && other.got_kill;
    const bool unreachable = history_.impaired().contains(other.host) || refused;
    if (world_.scenario().stuck.contains(other.rank) && unreachable) continue;
    if (world_.host(other.host).frozen || (worker && worker->stopped)) continue;
    broke("two of a rank: a rank starts while an earlier process of it runs");
  }
}

void Restarts::launcher_signalled(int signal) {
  if (!signalled_ && dlaunch::is_end_signal(signal)) signalled_ = world_.now();
}

void Restarts::sent(int host, const dlaunch::wire::Message& message) {
  const auto* signal = std::get_if<dlaunch::wire::Signal>(&message);
  const bool ends = signal && (signal->signal == SIGKILL || dlaunch::is_end_signal(static_cast<int>(signal->signal)));
  if (ends || std::holds_alternative<dlaunch::wire::Finish>(message)) ending_[host] = world_.round();
  const auto* answer = std::get_if<dlaunch::wire::SpawnAnswer>(&message);
  const auto ending = ending_.find(host);
  if (answer && answer->ok && ending != ending_.end() && ending->second == world_.round())
    broke("a spawn after the end of the job began");
}

void Restarts::began(const Process& process) {
  if (process.kind != Process::Kind::rank || history_.impaired().contains(process.host)) return;
  constexpr Ns kOnTheWay = 100 * kMs;  // messages that start ranks
  const bool late = signalled_ && !history_.launcher_was_stopped() && world_.now() > *signalled_ + kOnTheWay;
  if (process.rank >= world_.ranks_at_start()) {
    // The notice of a preemption does not end the job yet.
    if (late && !world_.scenario().preempt) broke("a spawn after the user's signal");
    return;
  }
  if (process.round == 0) return;
  if (late) broke("a restart after the user's signal");
  const int before = process.round - 1;
  bool final = false;
  for (const auto& failure : history_.failures()) {
    if (failure.round != before) continue;
    final = world_.scenario().faults.size() == 1 && failure.wait_status == 93 << 8;
  }
  if (final) broke("a restart after an exit code of --no-restart-codes");
  const bool usage = before == 0 && world_.scenario().faults.size() == 1 && history_.met("exit2");
  if (usage) broke("a restart after a usage error");
  pause_before(process.round);
  if (is_guilty(process.host)) broke("a restart after two failures of a host, although a spare host is left");
}

/// The host could not start ranks in kGuilty rounds, and a spare host can replace it.
bool Restarts::is_guilty(int host) const {
  const std::map<int, std::set<int>> rounds = rounds_without_fork(world_.round());
  const auto found = rounds.find(host);
  return found != rounds.end() && static_cast<int>(found->second.size()) >= job::Rounds::kGuilty &&
         rounds.size() == 1 && world_.scenario().spares > 0 && history_.impaired().empty() &&
         host < world_.scenario().hosts;
}

/// The rounds before this one in which a host could not start ranks, by host.
std::map<int, std::set<int>> Restarts::rounds_without_fork(int before) const {
  std::map<int, std::set<int>> rounds;
  for (const auto& each : history_.not_forked()) {
    if (each.round < before) rounds[each.host].insert(each.round);
  }
  return rounds;
}

/// The second of two short rounds in a row is followed by a pause of 1 s, each further one by twice the time.
void Restarts::pause_before(int round) {
  if (history_.launcher_was_stopped()) return;  // a stop makes a round longer
  constexpr Ns kShort = std::chrono::nanoseconds(job::Rounds::kLong).count() - kSecond;
  std::map<int, std::pair<Ns, Ns>> rounds;  // begin and end
  std::set<int> unknown;                    // rounds that may be longer: the launcher waits for an impaired host
  for (const auto& [pid, process] : world_.processes().all()) {
    if (process.kind != Process::Kind::rank || process.alive) continue;
    if (history_.impaired().contains(process.host)) {
      unknown.insert(process.round);
      continue;
    }
    auto& [begin, end] = rounds.try_emplace(process.round, process.began, process.ended).first->second;
    begin = std::min(begin, process.began);
    end = std::max(end, process.ended);
  }
  int in_a_row = 0;
  for (int each = round - 1; each >= 0; --each) {
    const auto found = rounds.find(each);
    if (found == rounds.end() || unknown.contains(each) || found->second.second - found->second.first > kShort) break;
    ++in_a_row;
  }
  if (in_a_row < 2) return;
  const Ns pause = std::min<Ns>(kSecond << std::min(in_a_row - 2, 6), 60 * kSecond);
  if (world_.now() < rounds.at(round - 1).second + pause) broke("a restart after short rounds, without a pause");
}

void Restarts::job_ended(const Facts& facts) {
  if (!facts.outcome) return;
  const Scenario& s = facts.world.scenario();
  const job::Outcome& outcome = *facts.outcome;
  const auto& history = facts.history;
  const int rounds = facts.world.round() + 1;
  if (s.bug) {
    if (rounds > 3) broke("a bug that all ranks share started " + std::to_string(rounds) + " rounds");
    return;
  }
  const bool ended_from_outside = history.user_signalled() || history.managed() || s.timeout > 0 || s.after_first > 0 ||
                                  history.met("exit93") || history.outlasted_lease();
  std::set<int> not_forked;  // rounds
  for (const auto& each : history.not_forked()) not_forked.insert(each.round);
  if (static_cast<int>(not_forked.size()) >= job::Rounds::kAlike) return;
  const bool usage_error = rounds == 1 && history.met("exit2");
  if (usage_error) return;
  if (s.restarts == 0 || facts.world.round() >= s.restarts || outcome.cause == job::Cause::success ||
      ended_from_outside)
    return;
  std::set<int> without_ranks;  // hosts that are lost, or that a spare host replaced
  for (const auto& [host, since] : history.impaired()) without_ranks.insert(host);
  for (const auto& [host, failed] : rounds_without_fork(rounds)) {
    if (static_cast<int>(failed.size()) >= job::Rounds::kGuilty) without_ranks.insert(host);
  }
  std::erase_if(without_ranks, [&](int host) { return s.idle > 0 && host >= s.hosts; });
  const int count = static_cast<int>(without_ranks.size());
  const bool enough = count <= s.spares || (s.shrink && count < s.hosts);
  const bool started = facts.world.round() > 0 || !history.failures().empty() || history.was_printed("restart");
  if (!enough || !s.stuck.empty() || history.count(FaultKind::Of::login) > 0 || !started) return;
  if (history.was_printed("no restart: the job failed in the same way")) return;  // a sentence with its own check
  if (history.met("exit0") && history.failures().empty() && history.impaired().empty()) return;
  broke("no restart, although a restart and spare hosts are left");
}

}  // namespace sim
