// Ranks that a rank of the job asks for while it runs (MPI_Comm_spawn): another world, on the allocation's hosts. Pure.
//
// - A rank goes to the first host with a free slot, in the plan's order, those that have no rank yet last; where none
//   is free, to the one that has the fewest ranks beyond its slots. Hosts that the asker names are the only ones
//   considered.
// - It gets the environment of the asker's program, what was asked for it, and who it is among the new ranks; no
//   device, no binding, nothing of --env-for.
// - It runs in the directory that was asked, else in that of the asker's program.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

inline constexpr int kMostSpawned = 4096;               ///< ranks of one request
inline constexpr int kMostEverSpawned = 65536;          ///< ranks of all requests of a job
inline constexpr size_t kLongestWord = 128u << 10;      ///< an argument or variable that execve(2) takes is shorter
inline constexpr size_t kMostSpawnedBytes = 64u << 20;  ///< of the words and variables of all programs ever spawned

struct SpawnApp {
  std::vector<std::string> argv;
  int ranks = 1;
  std::string wdir = {};                ///< relative: to that of the asker's program; empty: that one
  std::vector<std::string> env = {};    ///< NAME=VALUE; the last of a name wins
  std::vector<std::string> hosts = {};  ///< names of hosts of the job; empty: any
};

struct SpawnRequest {
  int asker = 0;  ///< id of the rank that asks
  std::vector<SpawnApp> apps;
};

/// A world that was not adopted yet. Its ranks have the next ids.
struct SpawnPlan {
  std::vector<App> apps;
  std::vector<Rank> ranks;
  std::set<size_t> spare = {};  ///< indices into Plan::spare: to be met first, and all planned anew. None: adopt it
};

/// Of the plan's hosts, then of the spare ones: indices below host_count().
const Host& host_at(const Plan& plan, size_t index);
size_t host_count(const Plan& plan);

/// `running[h]`: how many ranks run on host h of the plan now.
Result<SpawnPlan> grow(const Plan& plan, const SpawnRequest& request, std::vector<int> running);

/// These are hosts of the plan from now on, the last ones, in this order.
void add_hosts(Plan& plan, const std::set<size_t>& spare);

/// Puts it behind all that the plan has. Returns the world's number.
int adopt(Plan& plan, SpawnPlan grown);

}  // namespace dlaunch::plan
