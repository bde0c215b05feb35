// When memory runs out: whom the kernel takes, and the evidence that it took one.
#pragma once

#include <optional>
#include <string>

#include "sys/fd.h"

namespace dlaunch::agent {

/// The oom_kill events of this process's memory cgroup, from memory.events (cgroup v2) or memory.oom_control (v1);
/// nullopt where neither can be read.
std::optional<long> oom_kills();

/// How much likelier a rank is taken than the agent, in thousandths of the memory there is. A rank of no size is taken
/// before an agent or launcher that holds 30 %; among the ranks the largest still comes first, since all are raised.
inline constexpr long kRankOomScore = 300;

/// The oom_score_adj of what is forked: this process's own, which is what the user set, raised by kRankOomScore.
/// Inherited rather than written by the child, whom a look into /proc would cost 60 us, a tenth of its way into exec.
/// Raising needs no rights, nor does going back to where one was. Where /proc does not serve, nothing is raised.
class RankOomScore {
 public:
  RankOomScore();

  /// While this lives, a fork is a rank's.
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

  sys::Fd file_;  // none: there is nothing to raise
  std::string own_;
  std::string raised_;
};

}  // namespace dlaunch::agent
