// What a rank begins with, between its Spawn and its fork. Owned by Ranks.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "agent/mpi_service.h"
#include "agent/process_spawner.h"
#include "agent/program.h"
#include "agent/stdio.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

/// An app as this host runs it.
struct LocalApp {
  wire::Program asked;
  tl::expected<std::string, Refusal> path;
  ServedMpi mpi;
};

/// What one rank executes, and where.
struct RankProgram {
  const LocalApp* app = nullptr;
  std::string directory;  ///< in which it runs
  std::string path = {};
};

/// The path of the app's program for a rank that runs there. A name with a slash means what was staged there.
tl::expected<std::string, Refusal> path_of(const LocalApp& app, const wire::Spawn& spawn);

/// Of a rank that did not come to run its program.
Refusal refusal(const SpawnFailure& failure, const RankProgram& program);

struct RankStart {
  std::uint32_t rank = 0;
  std::uint32_t local_rank = 0;
  RankProgram program;
  std::vector<std::string> env = {};  ///< the rank's own
  Stdio stdio = {};
  sys::Fd mpi = {};  ///< the rank's end of its PMI connection
  std::vector<unsigned long> affinity = {};
  std::vector<char*> argv = {}, envp = {};
  Launch launch = {};  ///< of what stands above, which stays where it is

  /// Once all else is there.
  void complete(int cgroup, const rlimit& open_files, bool wait);
};

}  // namespace dlaunch::agent
