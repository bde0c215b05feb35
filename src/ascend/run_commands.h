// Converts commands for hosts to the wire format, and their results from the wire format. PURE.
#pragma once

#include <string>
#include <vector>

#include "ascend/tables/hccn.h"
#include "launcher/host_query.h"
#include "wire/message.h"

namespace dlaunch::ascend {

/// Commands are searched in `path`, and then in the install directory of Ascend's driver for hccn_tool.
wire::RunCommands run_commands(const std::string& path, const std::vector<ranktable::Command>& commands);

/// One answer per command in `commands`; a missing answer counts as timed out.
std::vector<ranktable::Answer> answers(const launcher::QueriedHost& host, size_t commands);

}  // namespace dlaunch::ascend
