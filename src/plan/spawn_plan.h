// Plans a new world for a request of a running rank (MPI_Comm_spawn), on the hosts of the allocation. Pure.
//
// - A rank starts on the first host with a free slot, in the plan's order, hosts without ranks last. If no slot is
//   free, the rank starts on the host with the fewest ranks beyond its slots. If the request names hosts, only these
//   are considered.
// - A rank gets the environment of the requesting rank's program, the requested variables, and the variables for its
//   place in the new world. It has no device, no binding and no variables of --env-for.
// - A rank runs in the requested directory, else in the directory of the requesting rank's program.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

inline constexpr int kMostSpawned = 4096;               ///< per request
inline constexpr int kMostEverSpawned = 65536;          ///< per job, in all requests
inline constexpr size_t kLongestWord = 128u << 10;      ///< execve(2) requires shorter arguments and variables
inline constexpr size_t kMostSpawnedBytes = 64u << 20;  ///< total arguments and variables of all spawned programs

struct SpawnApp {
  std::vector<std::string> argv;
  int ranks = 1;
  std::string wdir = {};                ///< relative to the requesting program's directory; empty: this directory
  std::vector<std::string> env = {};    ///< NAME=VALUE; the last entry of a name wins
  std::vector<std::string> hosts = {};  ///< names of hosts of the job; empty: any host
};

struct SpawnRequest {
  int asker = 0;  ///< id of the requesting rank
  std::vector<SpawnApp> apps;
};

/// A world before RoundPlan::add(). Its ranks have the next ids.
struct SpawnPlan {
  std::vector<App> apps;
  std::vector<Rank> ranks;
  /// indices into Plan::spare: connect to these hosts, then plan again. Empty: ready for RoundPlan::add()
  std::set<size_t> spare = {};
};

/// A host of the plan, or a spare host after these; `index` is below host_count().
const Host& host_at(const Plan& plan, size_t index);
size_t host_count(const Plan& plan);

/// `running[h]` is the current number of ranks on host h.
Result<SpawnPlan> plan_spawn(const Plan& plan, const SpawnRequest& request, std::vector<int> running);

/// The plan of a round, with the worlds that its ranks spawned. Ranks, programs and hosts are only appended, and keep
/// their numbers. All parts of the launcher read now(); only mpi::Spawner and mpi::SpareHosts add to it.
class RoundPlan {
 public:
  explicit RoundPlan(Plan plan) : plan_(std::move(plan)) {}

  /// The reference is valid until the end of this object.
  const Plan& now() const { return plan_; }

  /// Appends the world. Returns the world's number.
  int add(SpawnPlan spawned);
  /// Appends these hosts of Plan::spare to the hosts, in this order.
  void add_hosts(const std::set<size_t>& spare);
  /// Further worlds do not use the host.
  void give_up(int host) { plan_.host(host).unreachable = true; }

 private:
  Plan plan_;
};

}  // namespace dlaunch::plan
