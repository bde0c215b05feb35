// Makes an allocation from host entries: joins names of one host, recognizes this machine, sets the slots. Pure.
//
// Two entries mean the same host if name, user, port and jump are equal, or if both mean this machine. A host with a
// user, port or jump is always remote, even with this machine's name: it may be a container's sshd.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::hosts {

// Defines the hosts of --fake-hosts. This machine simulates each host, with a separate agent and shell. Pure.

/// The name of the fake host in the environment of its agent and ranks. Separates its processes from the processes of
/// other fake hosts on this machine.
inline constexpr std::string_view kFakeHostVariable = "DLAUNCH_FAKE_HOST";

/// "2x4": fake1 and fake2, with 4 slots each; "2" means "2x1". Ranks connect to fakeN at 127.0.0.N, an address of this
/// machine only. An Error has no `where`.
Result<std::vector<HostEntry>> parse_fake_hosts(std::string_view text);

/// The command to start their agents, in the form of --exec.
std::string fake_host_command();

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
