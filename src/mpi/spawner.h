// Handles spawn requests of ranks (MPI_Comm_spawn): adds the ranks to the plan, with outputs and ids. Owned by WireUp;
// all constructor arguments must outlive this object.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "job/job.h"
#include "launcher/component.h"
#include "mpi/coordinators.h"
#include "plan/spawn_plan.h"
#include "wire/message.h"

namespace dlaunch::mpi {

/// Hosts of the allocation without ranks. A spawn that needs such a host connects to the host and waits. Owned by
/// WireUp; all constructor arguments must outlive this object.
class SpareHosts {
 public:
  struct Waiting {
    int host = 0;  ///< of the requesting rank
    wire::SpawnAsk ask;
    std::set<int> lacks = {};  ///< hosts that are not ready
  };

  explicit SpareHosts(const launcher::Context& context) : context_(context) {}

  static constexpr size_t kMostWaiting = 64;  ///< spawns at one time; each may have 16 MiB of arguments

  /// Connects to hosts of the new world that are not ready. If there are any, takes the request and returns true;
  /// ready() or lost() returns the request later.
  bool wait_for_hosts(const plan::SpawnPlan& spawned, int host, wire::SpawnAsk& ask);
  bool full() const { return waiting_.size() >= kMostWaiting; }

  /// The spawns for which this host was the last missing host.
  std::vector<Waiting> ready(int host);
  /// The spawns that needed this host. The planner no longer uses the host.
  std::vector<Waiting> lost(int host);

 private:
  std::vector<Waiting> take(const std::function<bool(Waiting&)>& wanted);

  const launcher::Context& context_;
  std::set<int> connecting_;  // neither ready nor lost yet
  std::vector<Waiting> waiting_;
};

/// Decodes the request; nullopt: invalid. PURE.
std::optional<plan::SpawnRequest> spawn_request(const wire::SpawnAsk& ask);

class Spawner {
 public:
  Spawner(const launcher::Context& context, PmiCoordinator& mpi) : context_(context), mpi_(mpi) {}

  /// Plans a world to be added when all of its hosts are ready; an Error if the spawn is impossible.
  Result<plan::SpawnPlan> planned(const plan::SpawnRequest& request) const;

  /// Adds the world to the plan and its ranks to the outputs, with `pairs` in its key-value space. The caller passes
  /// the result to the job. After an Error the plan is unchanged.
  Result<job::RanksAdded> take(plan::SpawnPlan spawned, int asker, std::vector<std::string> pairs);

 private:
  std::vector<int> running() const;

  const launcher::Context& context_;
  PmiCoordinator& mpi_;
};

}  // namespace dlaunch::mpi
