// Reads the CPUs that this process may use, with cores, sockets and NUMA nodes, from hwloc (used only here). A call
// takes milliseconds; call only for a job with binding.
#pragma once

#include "dlaunch/error.h"
#include "plan/binding.h"

namespace dlaunch::agent {

/// Restricted to the calling thread's affinity mask. Ids follow the hardware's order, from 0. If the kernel does not
/// report cores, sockets or NUMA nodes, each thread counts as one core, all in socket 0 and node 0.
Result<plan::Topology> read_topology();

/// All hardware threads of the machine, including threads outside this process's mask; ids count over all threads.
Result<plan::Topology> read_whole_topology();

}  // namespace dlaunch::agent
