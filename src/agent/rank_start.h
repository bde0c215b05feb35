// The data of a rank between its Spawn and its fork, with its descriptors 0, 1 and 2. Owned by Ranks.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "agent/process_spawner.h"
#include "agent/program.h"
#include "mpi/mpi_service.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

/// Opens a rank's descriptors 0, 1 and 2 as its Spawn requests: the child's ends and the agent's ends.
struct Stdio {
  sys::Fd child_in, child_out, child_err;
  sys::Fd in;        ///< the agent writes the rank's stdin here; empty: no stdin
  sys::Fd out, err;  ///< the agent reads the rank's output here; empty: nothing to read
  bool terminal = false;
};

tl::expected<Stdio, Refusal> open_stdio(const wire::Spawn& spawn, wire::WindowSize size);

/// Sets the size of the rank's terminal; the kernel then sends SIGWINCH.
void resize_terminal(int fd, wire::WindowSize size);

/// An app as prepared on this host.
struct LocalApp {
  wire::Program asked;
  tl::expected<std::string, Refusal> path;
  mpi::ServedMpi mpi;
};

/// The program and the working directory of one rank.
struct RankProgram {
  const LocalApp* app = nullptr;
  std::string directory;  ///< the working directory
  std::string path = {};
  std::string error_file = {};  ///< ErrorFiles::add_to()
};

/// The path of the app's program for this rank. A name with a slash may be a staged file.
tl::expected<std::string, Refusal> path_of(const LocalApp& app, const wire::Spawn& spawn);

/// Describes the failed step of a rank's start.
Refusal refusal(const SpawnFailure& failure, const RankProgram& program);

struct RankStart {
  std::uint32_t rank = 0;
  std::uint32_t local_rank = 0;
  RankProgram program;
  int directory = -1;                 ///< of Launch
  sys::HeldDirectory saved_in = {};   ///< of Launch
  std::vector<std::string> env = {};  ///< the rank's own
  Stdio stdio = {};
  sys::Fd mpi = {};  ///< the rank's end of its PMI connection
  std::vector<unsigned long> affinity = {};
  std::vector<char*> argv = {}, envp = {};
  Launch launch = {};  ///< points to the members above: do not move them

  /// Call after all other members are set.
  void complete(int cgroup, const rlimit& open_files, bool wait);

 private:
  /// The place for the rank's process id in `env`; nullptr if the agent is not a task of srun.
  char* reserve_own_pid();
};

}  // namespace dlaunch::agent
