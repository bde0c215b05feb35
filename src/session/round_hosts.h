// The hosts of a job over its rounds. Between two rounds, a spare host takes the ranks of a lost host, or the job is
// planned without the lost hosts (Policy::shrink). Owned by JobRun; the links and the policy must outlive the object.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"
#include "dlaunch/policy.h"
#include "dlaunch/run.h"
#include "launcher/hosts.h"

namespace dlaunch::session {

class RoundHosts {
 public:
  /// `first`: the plan of the first round; empty if no other round may follow.
  RoundHosts(plan::Plan first, launcher::Hosts& links, const job::Policy& policy, PlanWithout plan_without);

  /// The first round's ranks on the hosts of the next round.
  const plan::Plan& planned() const { return planned_; }
  /// The number of spare hosts that are connected or still connecting.
  int spares() const;
  /// Returns the hosts that the next round needs: without hosts that only spawned ranks used (MPI_Comm_spawn).
  std::vector<job::LostHost> needed(std::vector<job::LostHost> hosts) const;
  /// Chooses the hosts of the next round, which has the number `round`. The ranks of each lost host move to a spare
  /// host. The ranks of the host `guilty` (may be empty) move if a spare host fits. Returns lines about the moved
  /// ranks.
  Result<std::string> choose(const job::Outcome& outcome, const std::string& guilty, int round);

 private:
  std::vector<bool> spares(bool or_not_yet) const;
  std::optional<int> find(const std::string& name) const;
  std::optional<std::string> replace(int host, int round);
  Result<std::string> shrink(const std::vector<std::string>& lost, int round);

  plan::Plan planned_;
  launcher::Hosts& links_;
  const job::Policy& policy_;
  const PlanWithout plan_without_;
};

}  // namespace dlaunch::session
