// Hosts of --fake-hosts: this machine plays each of them, with an agent of its own behind a shell of its own. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::allocate {

/// In the environment of a fake host's agent and of its ranks: the host's name. It tells what belongs to the host from
/// what belongs to the others that this machine plays.
inline constexpr std::string_view kFakeHostVariable = "DLAUNCH_FAKE_HOST";

/// "2x4": fake1 and fake2, of 4 slots each; "2" is "2x1". Ranks know fakeN by 127.0.0.N, which only this machine
/// reaches. An Error has no `where`.
Result<std::vector<HostEntry>> parse_fake_hosts(std::string_view text);

/// The command that reaches them, as of --exec.
std::string fake_host_command();

}  // namespace dlaunch::allocate
