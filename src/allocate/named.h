// Makes an allocation of host entries: joins names of one host, recognises this machine, decides slots. Pure.
//
// Two entries are one host when name, user, port and jump are equal, or when both mean this machine. A host with a
// user, port or jump is reached over the network even under our own name, because it may be a container's sshd.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::allocate {

/// The meaning of a host that is repeated in the list.
enum class Repeated {
  slots_add_up,   ///< -H and resource managers
  one_slot_each,  ///< hostfile: without slots, each line adds one; with slots it is an error, as in Open MPI
};

struct Named {
  std::vector<HostEntry> entries;
  Repeated repeated = Repeated::slots_add_up;
  std::optional<plan::Manager> manager = {};  ///< whose list it is
};

/// `here` is this machine as local_allocation makes it; its CPUs or devices are the slots of an entry that means this
/// machine and has none. Slots of other hosts that nobody gave stay unknown. Linear in entries.
Result<plan::Allocation> allocation_of(const Named& named, const plan::Host& here,
                                       const std::function<bool(const std::string& name)>& is_here);

}  // namespace dlaunch::allocate
