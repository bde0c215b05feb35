// Commands for hosts and their answers, in the wire's form. PURE.
#pragma once

#include <string>
#include <vector>

#include "launcher/host_query.h"
#include "ranktable/hccn.h"
#include "wire/message.h"

namespace dlaunch::app {

/// Commands are looked up in `path`, and then where Ascend's driver installs hccn_tool.
wire::RunCommands run_commands(const std::string& path, const std::vector<ranktable::Command>& commands);

/// An answer for each of `commands`; those that a host did not give count as timed out.
std::vector<ranktable::Answer> answers(const launcher::QueriedHost& host, size_t commands);

}  // namespace dlaunch::app
