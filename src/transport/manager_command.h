// The command line by which a resource manager starts a program on one of its job's nodes, as --exec takes it. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/host.h"

namespace dlaunch::transport {

/// The program that must be there for it; empty: the manager has no such command.
std::string_view manager_program(plan::Manager::Kind kind);

/// Whether one command line serves every node and gives its agent all that the job has there. Slurm's does not for the
/// groups of a heterogeneous job, nor where the job's GPUs may be spread unevenly (--gpus, --gpus-per-task): a step has
/// to name its group or its number of GPUs.
bool command_gives_all(plan::Manager::Kind kind, const std::vector<std::string>& environment);

/// {host} stands for the node. `environment`: the launcher's, in which some variables would change what the command
/// means.
std::string manager_command(plan::Manager::Kind kind, const std::vector<std::string>& environment);

}  // namespace dlaunch::transport
