// Host entries as an allocation: names of one host made one, this machine recognised, slots decided. Pure.
//
// Two entries are one host when name, user, port and jump are the same, or when both mean this machine. A host with a
// user, port or jump is reached over the network even when its name is ours: that may well be a container's sshd.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::allocate {

/// What it means that a host stands in the list again.
enum class Repeated {
  slots_add_up,   ///< -H and resource managers
  one_slot_each,  ///< hostfile: without slots, a slot a line; with slots it is an error, as in Open MPI
};

struct Named {
  std::vector<HostEntry> entries;
  Repeated repeated = Repeated::slots_add_up;
};

/// `here` is this machine as local_allocation sees it; its CPUs or devices are the slots of an entry that means it and
/// has none. Slots of other hosts that nobody named stay unknown. Linear in entries.
Result<plan::Allocation> allocation_of(const Named& named, const plan::Host& here,
                                       const std::function<bool(const std::string& name)>& is_here);

}  // namespace dlaunch::allocate
