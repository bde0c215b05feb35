// What a rank needs between its Spawn and its fork. Owned by Ranks.
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

/// An app as it runs on this host.
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
  std::string error_file = {};  ///< ErrorFiles::add_to()
};

/// The path of the app's program for this rank. A name with a slash may mean a staged file.
tl::expected<std::string, Refusal> path_of(const LocalApp& app, const wire::Spawn& spawn);

/// Why a rank did not become its program.
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
  Launch launch = {};  ///< refers to the members above, which must stay where they are

  /// To be called once all else is set.
  void complete(int cgroup, const rlimit& open_files, bool wait);
};

}  // namespace dlaunch::agent
