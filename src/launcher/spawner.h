// Worlds for which ranks ask while the job runs: makes an agent's request ranks of the plan with outputs and ids, and
// makes the frames that start them. Owned by the launcher; all that is given must outlive it.
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

/// The request in the message; nullopt when no agent can mean it. PURE.
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

  /// Plans a world that can be taken once all its hosts are ready, or says why there can be none.
  Result<plan::SpawnPlan> planned(const plan::SpawnRequest& request) const;

  /// Adds the world to the plan and its ranks to the outputs, with `pairs` in its key-value space. The caller gives the
  /// result to the job. After an Error the plan is unchanged.
  Result<job::RanksAdded> take(plan::SpawnPlan spawned, int asker, std::vector<std::string> pairs);

  /// The frames that start the newest world's ranks on that host.
  std::vector<wire::Message> frames(int host) const;

 private:
  std::vector<int> running() const;

  Parts parts_;
  PmiCoordinator& mpi_;
};

}  // namespace dlaunch::launcher
