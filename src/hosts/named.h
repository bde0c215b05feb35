// Makes an allocation from host entries: joins names of one host, recognizes this machine, sets the slots. Pure.
//
// Two entries mean the same host if name, user, port and jump are equal, or if both mean this machine. A host with a
// user, port or jump is always remote, even with this machine's name: it may be a container's sshd.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::hosts {

/// The meaning of a duplicate host in the list.
enum class Repeated {
  slots_add_up,   ///< -H and resource managers
  one_slot_each,  ///< hostfile: without slots, each line adds one slot; with slots it is an error, as in Open MPI
};

struct Named {
  std::vector<HostEntry> entries;
  Repeated repeated = Repeated::slots_add_up;
  std::optional<plan::Manager> manager = {};  ///< the manager of the list
};

/// `here` is this machine from local_allocation. Its CPUs or devices are the slots of an entry for this machine without
/// slots. Slots of other hosts without a number stay unknown. Linear in entries.
Result<plan::Allocation> allocation_of(const Named& named, const plan::Host& here,
                                       const std::function<bool(const std::string& name)>& is_here);

}  // namespace dlaunch::hosts
