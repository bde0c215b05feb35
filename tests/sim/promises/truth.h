// What is true in a world, in the terms of the sentences that dlaunch prints: which faults act when, which ranks a
// round has, when the launcher can have noticed an event. Part of the promise Sentences.
#pragma once

#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "world/faults.h"
#include "world/observer.h"
#include "world/world.h"

namespace sim {

/// The difference that a time in a sentence may have, in addition to its rounding.
inline constexpr Ns kTimeError = 100 * kMs;

struct Interval {
  static constexpr Ns kOpen = std::numeric_limits<Ns>::max();
  std::string kind;
  Ns begin = 0;
  Ns end = kOpen;
};

class Truth : public Observer {
 public:
  explicit Truth(World& world) : world_(world) {}

  void ended(const Process& process) override;
  void fault(const Fault& fault, bool ends) override;
  void sent(int host, const dlaunch::wire::Message& message) override;
  void heard(int host, const dlaunch::wire::Message& message) override;
  void not_forked(int host, int rank) override;
  void launcher_signalled(int signal) override { signals_.emplace_back(signal, now()); }
  void launcher_stopped(Ns until) override { stops_.push_back({"stop", now(), until}); }
  void link_closed(int host) override { closed_[host].push_back(now()); }

  World& world() const { return world_; }
  Ns now() const { return world_.now(); }

  // ---- hosts ----
  /// -1: no such host.
  int host(std::string_view name) const;
  /// Whether a fault of these kinds acts on the host at some time from `since` until now.
  bool met(int host, std::initializer_list<std::string_view> kinds, Ns since = 0) const;
  /// Whether at each time of [from, to] one of these faults acts.
  bool covered(int host, std::initializer_list<std::string_view> kinds, Ns from, Ns to) const;
  /// Whether a login from `since` on could have no answer.
  bool unreachable(int host, Ns since) const;
  /// Whether a fault ever harmed the host, its agents or its logins, or a batch system ended the job.
  bool harmed(int host) const;
  bool any_harmed() const;
  int fault_count(int host) const;
  /// Whether the launcher may have lost a host.
  bool any_lost() const;
  /// The times at which the host's end of a connection was closed.
  const std::vector<Ns>& closed(int host) const;
  /// Whether this number of logins to the host has started agents.
  bool has_agents(int host, int number) const;
  /// The time at which the launcher can notice what the host sent at `time`.
  /// `on_its_way`: how long before its arrival a silence may begin.
  Ns noticed(int host, Ns time, Ns on_its_way = 0) const { return running_at(arrival(host, time, on_its_way)); }
  /// The time at which what the host sent at `time` arrives at the launcher's machine; kOpen: never.
  Ns arrival(int host, Ns time, Ns on_its_way = 0) const;
  /// Whether a login of the last `most` started an agent that runs no rank: an attempt of a sweep.
  bool has_sweeper(int host, Ns most) const;

  // ---- ranks ----
  /// The processes of the ranks of this round, by rank; of a rank with several, the newest.
  std::map<int, const Process*> ranks() const;
  const Process* process(int pid) const;
  /// Whether an agent could not fork the rank in this round; -1: any rank, any round.
  bool lacks_process(int rank, int round) const;
  bool lacks_process_on(int host) const;
  /// -1: a spawned rank that has not begun.
  int host_of(int rank) const;
  /// The id of a rank by its printed name: "3", or "2/0" for a spawned rank.
  int rank(const std::string& name) const;
  /// "0-2,5,2/0-1"
  std::set<int> told_ranks(const std::string& text) const;
  /// The ranks that the launcher knows of. Spawned ranks count as soon as one of them runs.
  int count_ranks() const;
  /// The processes of ranks and daemons that live now; -1: on all hosts.
  int living(int host = -1) const;
  /// The first time in this round at which the launcher sent a signal or Finish to ranks.
  std::optional<Ns> ending_since() const { return ending_since_; }

  // ---- launcher and user ----
  const std::vector<std::pair<int, Ns>>& signals() const { return signals_; }
  /// Whether the user signalled again: dlaunch does not wait for answers of hosts any more.
  bool hurried() const { return signals_.size() > 1; }
  /// Between two stops without a gap, the launcher handles what it received, or only its TSTP, whichever is first.
  enum class Between { runs, stops };
  /// The end of the stop of the launcher at this time, or the time itself.
  Ns running_at(Ns time, Between between = Between::runs) const;
  /// The time itself, and the ends of the stops without a gap that follow: the launcher may handle an event at each.
  std::vector<Ns> running_times(Ns time) const;
  bool stopped_since(Ns since) const;
  bool managed() const { return managed_.has_value(); }
  std::optional<Ns> managed_at() const { return managed_; }
  bool reader_was_slow() const { return reader_slow_; }
  bool met_anywhere(std::string_view kind) const;

  // ---- rounds ----
  Ns round_start() const { return round_start_; }
  /// A line announced the next round, which starts at this time.
  void restart_at(Ns time);
  /// A rank of the round is started. The announced round starts at most a second earlier than announced.
  void round_began(int round);
  /// How much earlier than round_start() the round may start: the announced time was rounded up to a whole second.
  Ns start_error() const;
  /// Whether the announced round has a rank.
  bool announced_round_began() const;
  /// Whether the launcher waits, or waited, for the start of the announced round.
  bool announced_round_prepared() const { return world_.round() >= announced_; }

  std::set<int> used_spares;  ///< hosts that took ranks over
  std::set<int> removed;      ///< hosts without which the job continues
  std::map<int, int> takers;  ///< by the host that lost its ranks

 private:
  struct NotForked {
    int host, rank, round;
  };
  World& world_;
  std::vector<NotForked> not_forked_;
  std::map<int, std::vector<Interval>> faults_;
  std::map<int, std::vector<Ns>> closed_;
  std::vector<std::pair<int, Ns>> signals_;
  std::vector<Interval> stops_;
  std::optional<Ns> managed_;
  std::optional<Ns> ending_since_;
  Ns round_start_ = 0;
  bool round_known_ = true;  // that is the true time, not the announced one
  int announced_ = 0;
  bool reader_slow_ = false;
};

/// A time as dlaunch prints it, with the error of its rounding.
struct Told {
  Ns time = 0;
  Ns error = 0;
  bool is(Ns truth) const { return is_between(truth, truth); }
  bool is_between(Ns from, Ns to) const { return time >= from - error - kTimeError && time <= to + error + kTimeError; }
};
/// "0.05 s", "12.3 s", "1 min 20 s", "1 h 3 min"
Told told_time(const std::string& text);
/// "0-2,5"
std::set<int> told_numbers(const std::string& text);
/// "n0", "n[0-2],m1"
std::vector<std::string> told_names(const std::string& text);

}  // namespace sim
