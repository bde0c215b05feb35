// A Grid Engine job as its variables and its PE_HOSTFILE tell of it (8.1.9 was looked at). Pure but for `read_file`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::allocate {

/// The number of the job of a parallel environment that this process is in, "5", of an array's task "5.2".
std::optional<std::string> grid_engine_job(const std::vector<std::string>& environment);

/// A line for each queue that gives slots on a host, which may be several: "host slots queue processors".
Result<std::vector<HostEntry>> read_grid_engine(const std::vector<std::string>& environment, const ReadText& read_file);

}  // namespace dlaunch::allocate
