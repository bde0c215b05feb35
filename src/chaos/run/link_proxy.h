// The process between a launcher and the command that connects to a host: it carries the bytes of the link, and holds,
// slows or closes it for dlaunch chaos. After the end of dlaunch chaos it only carries the bytes.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::chaos {

/// `words`: the path of the socket of Links, the name of the host, and the command with its words. The link is on 0 and
/// 1, one socket. Returns the exit code of the command.
Result<int> run_link(const std::vector<std::string>& words);

}  // namespace dlaunch::chaos
