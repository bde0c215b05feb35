// Where the hosts come from: -H, else --hostfile, else a resource manager, else --default-hostfile, else this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allocate/host_entry.h"
#include "allocate/resource_manager.h"
#include "base/error.h"
#include "plan/allocation.h"

namespace dlaunch::allocate {

/// What the user asked, read but not yet looked at. A value, filled by cli.
struct HostRequest {
  std::vector<HostEntry> list;              ///< -H; empty: not given
  std::vector<HostEntry> hostfile;          ///< empty: not given
  std::vector<HostEntry> default_hostfile;  ///< empty: not given
  bool no_local = false;                    ///< nothing runs on this machine
  std::string agent_path;                   ///< of hosts that have no agent= of their own; empty: the agent is sent
  bool ignore_resource_manager = false;
  std::vector<int> devices;  ///< of each host; empty: all that it has
  std::string include;
  std::string exclude;
  std::optional<int> max_slots;  ///< for every host
  std::optional<int> fake_devices;
  bool count_cores = false;    ///< where nobody says its slots, a host has one for each core, and devices are no slots
  bool one_slot_each = false;  ///< where nobody says its slots, a host has one; an entry that comes again adds up
  bool slots_are_limits = false;  ///< also those of this machine that nobody named
};

/// Whether this machine alone is meant, as far as can be told without a look at it.
bool names_no_host(const HostRequest& request, const std::vector<std::string>& environment);

/// Looks at this machine, and at the resource manager's variables when the user named no host. `read_file` reads
/// PBS_NODEFILE.
Result<plan::Allocation> choose_allocation(const HostRequest& request, const std::vector<std::string>& environment,
                                           const ReadText& read_file);

}  // namespace dlaunch::allocate
