// Handles spawn requests of ranks (MPI_Comm_spawn): adds the ranks to the plan, with outputs and ids, and builds the
// frames that start them. Owned by WireUp; all constructor arguments must outlive this object.
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

/// Decodes the request; nullopt: invalid. PURE.
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

  /// Plans a world to be added when all of its hosts are ready; an Error if the spawn is impossible.
  Result<plan::SpawnPlan> planned(const plan::SpawnRequest& request) const;

  /// Adds the world to the plan and its ranks to the outputs, with `pairs` in its key-value space. The caller passes
  /// the result to the job. After an Error the plan is unchanged.
  Result<job::RanksAdded> take(plan::SpawnPlan spawned, int asker, std::vector<std::string> pairs);

  /// The frames that start the newest world's ranks on that host.
  std::vector<wire::Message> frames(int host) const;

 private:
  std::vector<int> running() const;

  Parts parts_;
  PmiCoordinator& mpi_;
};

}  // namespace dlaunch::launcher
