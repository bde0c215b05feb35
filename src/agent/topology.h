// The CPUs that this process may use, with their cores, sockets and NUMA nodes, as hwloc finds them (nothing else here
// uses it). That takes milliseconds, so it is called only where binding was asked for.
#pragma once

#include "dlaunch/error.h"
#include "plan/binding.h"

namespace dlaunch::agent {

/// Restricted to the calling thread's affinity mask. Ids follow the hardware's order, from 0. Where the kernel tells
/// nothing of cores, sockets or NUMA nodes, each thread is a core of its own, all in socket 0 and node 0.
Result<plan::Topology> read_topology();

/// All hardware threads of the machine, including those that this process may not use; ids count over all of them.
Result<plan::Topology> read_whole_topology();

}  // namespace dlaunch::agent
