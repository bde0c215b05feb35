// PBS (OpenPBS, PBS Professional, Torque): PBS_NODEFILE has one name for each slot. Pure, except for `read_file`.
#pragma once

#include "place/manager_row.h"

namespace dlaunch::place {

extern const ManagerRow kPbs;

/// The seconds between TERM and KILL of PBS, from the output of `qstat -Qf QUEUE`. nullopt: the queue does not set
/// kill_delay.
std::optional<int> pbs_kill_delay(std::string_view queue);

}  // namespace dlaunch::place
