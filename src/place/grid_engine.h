// Reads a Grid Engine job from its variables and its PE_HOSTFILE (tested with 8.1.9). Pure, except for `read_file`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::place {

/// The number of the parallel job around this process, "5", or "5.2" for an array task.
std::optional<std::string> grid_engine_job(const std::vector<std::string>& environment);

/// Reads "host slots queue processors" lines: one line per queue with slots on a host; a host may have several lines.
Result<std::vector<hosts::HostEntry>> read_grid_engine(const std::vector<std::string>& environment,
                                                       const hosts::ReadText& read_file);

}  // namespace dlaunch::place
