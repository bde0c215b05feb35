// Worlds that ranks of the job ask for while it runs: from what an agent says to ranks that are planned, have an output
// and a place in every count, and to the frames that start them. Owned by the launcher; all that is given must outlive
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "job/job.h"
#include "launcher/pmi_coordinator.h"
#include "launcher/rank_streams.h"
#include "output/output.h"
#include "plan/spawn_plan.h"
#include "wire/message.h"

namespace dlaunch::launcher {

/// What the ask means; nullopt when no agent can mean it. PURE.
std::optional<plan::SpawnRequest> spawn_request(const wire::SpawnAsk& ask);

class Spawner {
 public:
  struct Parts {
    plan::Plan& plan;
    const JobOptions& settings;
    std::vector<output::RankFacts>& facts;
    output::Output& output;
    RankStreams& streams;
    const job::Job& job;
  };
  Spawner(const Parts& parts, PmiCoordinator& mpi) : parts_(parts), mpi_(mpi) {}

  /// A world that is still to be taken, once all its hosts are there; or why there can be none.
  Result<plan::SpawnPlan> planned(const plan::SpawnRequest& request) const;

  /// The plan and its ranks' outputs have another world from here on, with `pairs` in its key-value space; the job is
  /// still to be told. An Error says why the plan is as it was.
  Result<job::RanksAdded> take(plan::SpawnPlan grown, int asker, std::vector<std::string> pairs);

  /// What starts the newest world's ranks on that host.
  std::vector<wire::Message> frames(int host) const;

 private:
  std::vector<int> running() const;

  Parts parts_;
  PmiCoordinator& mpi_;
};

}  // namespace dlaunch::launcher
