// The process between a launcher and the command that reaches a host: it carries the bytes of the link, and holds,
// slows or closes it as dlaunch chaos says. Once that is gone it carries them as if it were not there.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::chaos {

/// `words`: the path of the socket of Links, the host's name, and the command with its words. The link is on 0 and 1,
/// which are one socket. Returns the exit code of the command.
Result<int> run_link(const std::vector<std::string>& words);

}  // namespace dlaunch::chaos
