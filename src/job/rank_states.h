// The ranks of a job, from their start to their last byte: which run, which may still write, which failed first. PURE.
// Owned by Job.
#pragma once

#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/index_cast.h"
#include "dlaunch/outcome.h"
#include "dlaunch/worlds.h"
#include "job/events.h"

namespace dlaunch::job {

inline constexpr std::chrono::seconds kReaping{1};  ///< the most that a rank's time of end can lag behind its death

/// By time; MPI_Abort counts from the call. But MPI_Abort or SIGPIPE within kReaping before a rank was killed by a KILL
/// that is not ours, or left MPI, is a consequence: peers see a rank's connections end before its agent can reap it.
bool before(const RankRecord& one, const RankRecord& other);

class RankStates {
 public:
  /// `host_of_rank[r]`: index of the host that rank r runs on. Writes the ranks and the first failure of `outcome`,
  /// which must outlive it.
  RankStates(const std::vector<int>& host_of_rank, size_t hosts, Outcome& outcome);
  RankStates(const RankStates&) = delete;
  RankStates& operator=(const RankStates&) = delete;

  void add_host() { of_host_.emplace_back(); }
  /// The ranks of another world are asked to start. Returns the hosts that have some of them.
  std::set<int> add(const std::vector<int>& host_of_rank);
  /// The ranks of the first world are asked to start.
  void start() { expect(size()); }

  void started(const RankStarted& event);
  /// Returns false when the rank was known to have ended.
  bool ended(const RankEnded& event);
  /// Returns false when the rank has ended, or has called MPI_Abort before.
  bool aborted(const RankAborted& event);
  /// Returns false when that was known.
  bool drained(int rank);
  /// Stops waiting for the rest of the ranks' output.
  void leave_undrained() { undrained_ = 0; }
  /// The ranks of this host that have not ended are lost.
  void lose_host(int host, const std::string& why);
  /// The ranks that still run are lost, since KILL did not end them. Returns them.
  std::set<int> give_up();

  /// The ranks are told to end: one that ends from now on may do so because of it.
  void end() { told_to_end_ = true; }
  void kill() { told_to_end_ = killed_ = true; }
  bool killed() const { return killed_; }

  /// Notes the failure of a rank that ended or called MPI_Abort. Returns false when it is a consequence of the first
  /// failure, or of the job's end.
  bool failed(int rank);
  /// Somebody told a host's processes to end by this signal. Ranks that it ended shortly before, by their hosts'
  /// clocks, or later were meant, too, and did not fail.
  void told_from_outside(int signal, std::int64_t time_ns);
  int first_code() const;       ///< of the first failure
  int code_of(int rank) const;  ///< of a rank that failed

  int size() const { return static_cast<int>(host_of_rank_.size()); }
  int live() const { return live_; }
  int undrained() const { return undrained_; }
  int count_started() const { return started_; }
  int host_of(int rank) const { return at_index(host_of_rank_, rank); }
  bool are_on(int host) const { return !at_index(of_host_, host).empty(); }
  const Worlds& worlds() const { return worlds_; }
  std::set<int> running() const;

 private:
  std::set<int> place(const std::vector<int>& host_of_rank);
  void expect(int ranks);
  bool follows(const RankRecord& record) const;

  Outcome& outcome_;
  std::vector<int> host_of_rank_;
  std::vector<std::vector<int>> of_host_;
  Worlds worlds_;
  std::vector<bool> drained_;
  int live_ = 0;       // asked to start and not ended
  int undrained_ = 0;  // their streams may still bring bytes
  int started_ = 0;
  bool told_to_end_ = false;
  bool killed_ = false;
};

}  // namespace dlaunch::job
