// What this machine has, read from the kernel once and quickly, because every start of dlaunch waits for it.
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
  std::optional<int> affinity_cores = {};  ///< how many cores they are, where these are to be counted
  std::optional<CpuQuota> quota;           ///< the smallest of this process's cgroup and those above it
  std::vector<int> nvidia;                 ///< CUDA's ordinals 0…, as many as there are, whatever the N of /dev/nvidiaN
  std::vector<int> ascend;                 ///< the N of /dev/davinciN, ascending
  std::vector<int> amd;                    ///< HIP's ordinals 0…
};

/// `root` is "" for this machine, or a test's directory that holds dev/, proc/ and sys/.
Result<MachineFacts> read_machine(const std::string& root);

/// The cores of the CPUs in this process's affinity mask; a CPU whose core the kernel does not tell counts as one. It
/// reads a file for each CPU, so it runs only where it is asked for.
int count_cores(const std::string& root);

}  // namespace dlaunch::allocate
