// Grid Engine: PE_HOSTFILE, in a job of a parallel environment. Pure, except for `read_file`.
#pragma once

#include "place/manager_row.h"

namespace dlaunch::place {

extern const ManagerRow kGridEngine;

/// The seconds between USR2 and KILL of a job with `-notify`, from the output of `qconf -sq QUEUE`. nullopt: no limit,
/// or no value for all hosts.
std::optional<int> grid_engine_notify(std::string_view queue);

}  // namespace dlaunch::place
