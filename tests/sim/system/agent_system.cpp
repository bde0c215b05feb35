// The functions by which the agent uses its host, for the world. They are linked in place of the product's sources of
// the same names.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "agent/agent_tag.h"
#include "agent/job_cgroup.h"
#include "agent/job_directory.h"
#include "agent/process_spawner.h"
#include "agent/shared_memory.h"
#include "world/world.h"

namespace dlaunch::agent {

using sim::World;

/// The id of the rank; -1: another process. Spawned ranks have the ids after the ranks that the program started with.
static int rank_of(char* const* environment) {
  int rank = -1;
  int first = 0;
  int in_world = 0;
  bool spawned = false;
  for (char* const* each = environment; *each; ++each) {
    if (std::strncmp(*each, "SIM_RANK=", 9) == 0) rank = std::atoi(*each + 9);
    if (std::strncmp(*each, "SIM_FIRST=", 10) == 0) first = std::atoi(*each + 10);
    if (std::strncmp(*each, "DLAUNCH_RANK=", 13) == 0) in_world = std::atoi(*each + 13);
    if (std::strncmp(*each, "DLAUNCH_WORLD=", 14) == 0) spawned = true;
  }
  return spawned ? first + in_world : rank;
}

ProcessSpawner::Child ProcessSpawner::spawn(const Launch& launch) {
  static SpawnFailure none{};
  const int rank = rank_of(launch.envp);
  sim::Processes& processes = World::current().processes();
  if (rank < 0) return {processes.start_preparer(*processes.current(), launch.in, launch.out).pid, 0, &none};
  const int host = processes.current()->host;
  if (!World::current().host(host).forks) {
    World::current().say(World::current().host(host).name + ": fork of rank " + std::to_string(rank) + " fails");
    World::current().tell([&](sim::Observer& observer) { observer.not_forked(host, rank); });
    return {-1, EAGAIN, &none};
  }
  return {processes.start_rank(*processes.current(), rank, launch.in, launch.out, launch.err, launch.mpi).pid, 0,
          &none};
}

std::optional<SpawnFailure> ProcessSpawner::take_failure(SpawnFailure*) { return std::nullopt; }

JobCgroup::JobCgroup() : path_() {}
void JobCgroup::make(const std::string&) {}
void JobCgroup::adopt_left(const std::string&) {}
std::vector<sys::Process> JobCgroup::processes() const { return {}; }
void JobCgroup::kill() const {}
std::vector<std::string> JobCgroup::remove() { return {}; }
void JobCgroup::remove_abandoned() {}

AgentTag::AgentTag() = default;
void AgentTag::write(const std::string&, const std::string&) {}

/// Agents of a host start in the order of their numbers.
std::vector<sys::Process> AgentTag::older_agents() const {
  sim::Processes& processes = World::current().processes();
  const sim::Process& own = *processes.current();
  std::vector<sys::Process> found;
  for (const auto& [pid, each] : processes.all()) {
    const bool older = each.alive && !each.runs_job() && each.host == own.host && each.agent < own.agent;
    if (older) found.push_back({.pid = pid, .parent = each.parent, .name = "dlaunch-agent", .state = 'S'});
  }
  return found;
}

struct JobDirectory::Made {};
struct JobDirectory::Both {};
JobDirectory::JobDirectory() = default;
JobDirectory::~JobDirectory() = default;
tl::expected<std::string, JobDirectory::Failure> JobDirectory::keep(std::string_view name, std::string_view) {
  return "/nowhere/" + std::string(name);
}
tl::expected<std::string, JobDirectory::Failure> JobDirectory::make(std::string_view name) {
  return "/nowhere/" + std::string(name);
}
bool JobDirectory::make_shared_memory(const std::string&) { return false; }
std::vector<std::string> JobDirectory::remove() { return {}; }
std::vector<std::string> JobDirectory::remove_left() const { return {}; }

CreationWatch::CreationWatch(const std::string& directory, std::function<bool(std::string_view)> wanted)
    : directory_(directory), wanted_(std::move(wanted)) {}
void CreationWatch::start() {}
SharedMemory::SharedMemory(std::string directory) : directory_(std::move(directory)), watch_("", {}) {}
void SharedMemory::find_creators() {}
void SharedMemory::record_mapped() {}
SharedMemory::Left SharedMemory::remove() { return {}; }
std::string text_of(const SharedMemory::Left&) { return {}; }

RankOomScore::RankOomScore() = default;
void RankOomScore::write(const std::string&) const {}

std::string host_identity() {
  World& world = World::current();
  return "identity of " + world.host(world.processes().current()->host).name;
}
std::vector<std::string> marks_of_ranks(const std::string& job_id) { return {"DLAUNCH_JOB_ID=" + job_id}; }

}  // namespace dlaunch::agent
