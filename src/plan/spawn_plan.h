// The plan of a world that a rank of the running job asks for (MPI_Comm_spawn), on the allocation's hosts. Pure.
//
// - A rank goes to the first host with a free slot, in the plan's order, hosts without ranks last. Where no slot is
//   free, it goes to the host with the fewest ranks beyond its slots. If the asker names hosts, only these are
//   considered.
// - It has the environment of the asker's program, the variables that were asked for, and its own among the new ranks.
//   It has no device, no binding and nothing of --env-for.
// - It runs in the directory that was asked for, else in that of the asker's program.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

inline constexpr int kMostSpawned = 4096;               ///< in one request
inline constexpr int kMostEverSpawned = 65536;          ///< in all requests of a job
inline constexpr size_t kLongestWord = 128u << 10;      ///< execve(2) takes only shorter arguments and variables
inline constexpr size_t kMostSpawnedBytes = 64u << 20;  ///< of the words and variables of all programs ever spawned

struct SpawnApp {
  std::vector<std::string> argv;
  int ranks = 1;
  std::string wdir = {};                ///< relative to that of the asker's program; empty: that one
  std::vector<std::string> env = {};    ///< NAME=VALUE; the last entry of a name wins
  std::vector<std::string> hosts = {};  ///< names of hosts of the job; empty: any
};

struct SpawnRequest {
  int asker = 0;  ///< id of the rank that asks
  std::vector<SpawnApp> apps;
};

/// A world that was not yet adopted. Its ranks have the next ids.
struct SpawnPlan {
  std::vector<App> apps;
  std::vector<Rank> ranks;
  std::set<size_t> spare = {};  ///< indices into Plan::spare: connect to them, then plan anew. Empty: ready to adopt
};

/// A host of the plan or, behind these, a spare one; `index` is below host_count().
const Host& host_at(const Plan& plan, size_t index);
size_t host_count(const Plan& plan);

/// `running[h]` is the number of ranks that run on host h of the plan now.
Result<SpawnPlan> plan_spawn(const Plan& plan, const SpawnRequest& request, std::vector<int> running);

/// Appends these spare hosts to the plan's, in this order.
void add_hosts(Plan& plan, const std::set<size_t>& spare);

/// Appends the world to the plan. Returns the world's number.
int adopt(Plan& plan, SpawnPlan spawned);

}  // namespace dlaunch::plan
