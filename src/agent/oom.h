// Running out of memory: which process the kernel kills, and the evidence that it killed one.
#pragma once

#include <optional>
#include <string>

#include "sys/fd.h"

namespace dlaunch::agent {

/// The oom_kill events of this process's memory cgroup, from memory.events (cgroup v2) or memory.oom_control (v1);
/// nullopt where neither can be read.
std::optional<long> oom_kills();

/// How much likelier a rank is killed than the agent, in thousandths of the memory. A rank of no size goes before an
/// agent or launcher that holds 30 %; among the ranks the largest still goes first, since all are raised.
inline constexpr long kRankOomScore = 300;

/// The oom_score_adj of forked ranks: this process's own, which the user set, raised by kRankOomScore. Ranks inherit
/// it, because a child that writes it itself takes 60 us, a tenth of its way into exec. Raising it needs no rights, nor
/// does going back to the old value. Where /proc does not allow it, nothing is raised.
class RankOomScore {
 public:
  RankOomScore();

  /// A fork is a rank's while this object lives.
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

  sys::Fd file_;  // empty: nothing to raise
  std::string own_;
  std::string raised_;
};

}  // namespace dlaunch::agent
