// Reads the CPUs and devices of this machine from the kernel. Must be fast: every start of dlaunch waits for this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "machine/cgroup.h"

namespace dlaunch::machine {

struct MachineFacts {
  std::string host_name;
  int affinity_cpus = 1;                   ///< CPUs in this process's affinity mask
  std::optional<int> affinity_cores = {};  ///< number of their cores, if requested
  std::optional<CpuQuota> quota;           ///< the smallest limit of this process's cgroup and its parents
  std::vector<int> nvidia;                 ///< CUDA ordinals 0…, one per device, independent of the N in /dev/nvidiaN
  std::vector<int> ascend;                 ///< the N of /dev/davinciN, ascending
  std::vector<int> amd;                    ///< HIP ordinals 0…
};

/// `root` is "" for this machine, or a test's directory with dev/, proc/ and sys/.
Result<MachineFacts> read_machine(const std::string& root);

/// The number of cores of the CPUs in this process's affinity mask; a CPU with an unknown core counts as one. Reads one
/// file per CPU, so callers use this only on request.
int count_cores(const std::string& root);

}  // namespace dlaunch::machine
