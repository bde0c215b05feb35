// Defines the hosts of --fake-hosts. This machine simulates each host, with a separate agent and shell. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::hosts {

/// The name of the fake host in the environment of its agent and ranks. Separates its processes from the processes of
/// other fake hosts on this machine.
inline constexpr std::string_view kFakeHostVariable = "DLAUNCH_FAKE_HOST";

/// "2x4": fake1 and fake2, with 4 slots each; "2" means "2x1". Ranks connect to fakeN at 127.0.0.N, an address of this
/// machine only. An Error has no `where`.
Result<std::vector<HostEntry>> parse_fake_hosts(std::string_view text);

/// The command to start their agents, in the form of --exec.
std::string fake_host_command();

}  // namespace dlaunch::hosts
