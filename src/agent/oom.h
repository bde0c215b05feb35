// Out of memory: makes the kernel kill ranks before agents (RankOomScore, owned by Ranks).
#pragma once

#include <string>

#include "sys/fd.h"

namespace dlaunch::agent {

/// The amount by which the OOM score of a rank exceeds the agent's score, in thousandths of the memory. Even a tiny
/// rank is killed before an agent or launcher that uses 30 %. Among the ranks, still the largest rank is killed first.
inline constexpr long kRankOomScore = 300;

/// The oom_score_adj of forked ranks: this process's own value, raised by kRankOomScore. Ranks inherit the value from
/// the fork, because a write in the child takes 60 us, a tenth of the time to exec. Raising and restoring need no
/// permission. If /proc does not allow the write, the score stays. Owned by Ranks.
class RankOomScore {
 public:
  RankOomScore();

  /// Processes forked during the life of this object are ranks.
  class Raised {
   public:
    explicit Raised(const RankOomScore& score) : score_(score) { score_.write(score_.raised_); }
    ~Raised() { score_.write(score_.own_); }
    Raised(const Raised&) = delete;
    Raised& operator=(const Raised&) = delete;

   private:
    const RankOomScore& score_;
  };

 private:
  void write(const std::string& value) const;

  sys::Fd file_;  // empty: the score is not raised
  std::string own_;
  std::string raised_;
};

}  // namespace dlaunch::agent
