// RankStates: which ranks of a job run, which may still write output, and which failed first. PURE. Owned by Job.
#pragma once

#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/index_cast.h"
#include "base/time.h"
#include "dlaunch/outcome.h"
#include "dlaunch/worlds.h"
#include "job/events.h"

namespace dlaunch::job {

inline constexpr std::chrono::seconds kReaping{1};  ///< maximum delay between a rank's death and its recorded end

/// The end of a rank, or its call of MPI_Abort. The clock belongs to RankRecord::end_ns.
struct RankEnd {
  const RankRecord& record;
  int host = 0;
  HostClock clock = {};
};

/// Whether `one` certainly failed before `other`, by time; MPI_Abort counts from the call. Times of one host are exact.
/// Times of two hosts have the errors of both clocks, and neither end is before the other within these errors.
/// Exception: MPI_Abort or SIGPIPE within kReaping before another rank got a foreign SIGKILL, or left MPI, is a
/// consequence. Peers see the end of a rank's connections before its agent can reap the rank.
bool before(const RankEnd& one, const RankEnd& other);

class RankStates {
 public:
  /// `host_of_rank[r]`: index of the host of rank r. Writes `ranks` and `first_failure` of `outcome`, which must
  /// outlive this object.
  RankStates(const std::vector<int>& host_of_rank, size_t hosts, Outcome& outcome);
  RankStates(const RankStates&) = delete;
  RankStates& operator=(const RankStates&) = delete;

  void add_host() { of_host_.emplace_back(); }
  /// Adds the ranks of another world, whose start is requested. Returns their hosts.
  std::set<int> add(const std::vector<int>& host_of_rank);
  /// The start of the first world's ranks is requested.
  void start() { expect(size()); }

  void started(const RankStarted& event);
  /// Returns false if the end was recorded before.
  bool ended(const RankEnded& event);
  /// Returns false if the rank's end or an MPI_Abort was recorded before.
  bool aborted(const RankAborted& event);
  /// Returns false if recorded before.
  bool drained(int rank);
  /// Gives up output of the ranks that was not read.
  void leave_undrained() { left_undrained_ = true; }
  /// Marks the ranks of the host that have not ended as lost.
  void lose_host(int host, const std::string& why);
  /// Marks those ranks of the host that have no exit status: the host has not answered since the job began to end.
  void set_unheard(int host);
  /// Marks the ranks of the host that still run after KILL as lost. The job records the end of these ranks, but does
  /// not wait for the end.
  void give_up(int host);
  /// The ranks without a known end for which the job does not wait any more.
  std::set<int> stuck() const;

  /// The ranks are signalled: an end from now on may be a consequence of the signal.
  void end(Time now) {
    signalled_ = true;
    signalled_at_ = now;
  }
  /// A rank that a signal from outside ended before does not count as stopped by dlaunch. No effect after
  /// end().
  void keep_earlier_ends();
  void kill() { signalled_ = killed_ = true; }
  bool killed() const { return killed_; }

  /// Before start(): records the reason why the rank cannot start.
  void refused(const RankEnded& event);

  /// Records the failure of a rank that ended or called MPI_Abort. Returns false for a consequence of the first failure
  /// or of dlaunch's signal.
  bool failed(int rank);
  /// A signal from outside reached a host. Ranks that the signal ended shortly before this time or later are not
  /// failures.
  void signalled_from_outside(const HostTermination& event);
  int first_code() const;       ///< of the first failure
  int code_of(int rank) const;  ///< of a rank that failed

  int size() const { return static_cast<int>(host_of_rank_.size()); }
  int live() const { return live_; }
  /// Number of ranks whose output the job waits for.
  int undrained() const { return left_undrained_ ? 0 : undrained_; }
  /// Whether the end of a rank's output was given up and has not arrived since.
  bool lacks_output() const { return left_undrained_ && undrained_ > 0; }
  /// Whether the end of the output of a rank that was given up has not arrived.
  bool gave_up_output() const { return !given_up_undrained_.empty(); }
  int count_started() const { return started_; }
  int host_of(int rank) const { return at_index(host_of_rank_, rank); }
  bool are_on(int host) const { return !at_index(of_host_, host).empty(); }
  /// Whether a rank of the host has not ended. Only after the start of the ranks.
  bool live_on(int host) const;
  const Worlds& worlds() const { return worlds_; }
  std::set<int> running() const;

 private:
  std::set<int> place(const std::vector<int>& host_of_rank);
  void expect(int ranks);
  RankEnd end_of(int rank) const;
  bool follows(int rank) const;
  bool ended_by(const HostTermination& event, int rank) const;
  bool may_be_stopped(const RankEnded& event) const;
  bool is_live(int rank) const { return !at_index(outcome_.ranks, rank).status && !at_index(given_up_, rank); }

  Outcome& outcome_;
  std::vector<int> host_of_rank_;
  std::vector<std::vector<int>> of_host_;
  Worlds worlds_;
  std::vector<HostClock> clocks_;  // of each rank's host at the rank's end
  std::vector<bool> drained_;
  std::vector<bool> given_up_;
  std::vector<bool> stuck_;                    // given up after their start, and not ended since
  std::vector<HostTermination> from_outside_;  // the first of each host and signal
  int live_ = 0;                               // start requested, not ended
  int undrained_ = 0;                          // ranks that may still write output
  std::set<int> given_up_undrained_;           // not in undrained_
  bool left_undrained_ = false;
  int started_ = 0;
  bool signalled_ = false;
  Time signalled_at_ = Time::min();
  bool killed_ = false;
};

}  // namespace dlaunch::job
