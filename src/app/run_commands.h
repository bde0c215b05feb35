// Commands for hosts and their answers, as the wire carries them. PURE.
#pragma once

#include <string>
#include <vector>

#include "launcher/host_query.h"
#include "ranktable/hccn.h"
#include "wire/message.h"

namespace dlaunch::app {

/// Commands are looked up in `path`, and after it where Ascend's driver puts hccn_tool.
wire::RunCommands inquire(const std::string& path, const std::vector<ranktable::Command>& commands);

/// An answer for each of `commands`; all that a host did not answer took too long.
std::vector<ranktable::Answer> answers(const launcher::QueriedHost& host, size_t commands);

/// PATH of an environment, or a usual one.
std::string path_in(const std::vector<std::string>& environment);

}  // namespace dlaunch::app
