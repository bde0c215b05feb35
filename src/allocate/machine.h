// What there is on this machine, read from the kernel once and cheaply: every start of dlaunch waits for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allocate/cgroup.h"
#include "dlaunch/error.h"

namespace dlaunch::allocate {

struct MachineFacts {
  std::string host_name;
  int affinity_cpus = 1;                   ///< CPUs in this process's affinity mask
  std::optional<int> affinity_cores = {};  ///< their cores, where these are to be counted
  std::optional<CpuQuota> quota;           ///< the smallest of this process's cgroup and all above it
  std::vector<int> nvidia;  ///< CUDA's ordinals 0…: CUDA counts what is there, whatever N the /dev/nvidiaN have
  std::vector<int> ascend;  ///< N of /dev/davinciN, ascending
  std::vector<int> amd;     ///< HIP's ordinals 0…
};

/// `root` is "" for this machine; a test's directory that holds dev/, proc/ and sys/ otherwise.
Result<MachineFacts> read_machine(const std::string& root);

/// Of the CPUs in this process's affinity mask; a CPU of which the kernel does not tell its core is one. A file a CPU
/// is read, so only where it is asked for.
int count_cores(const std::string& root);

}  // namespace dlaunch::allocate
