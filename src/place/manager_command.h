// The command line that starts a program on a node of a resource manager's job, in the form of --exec. PURE.
//
// Grid Engine's qrsh (8.1.9) has these limits. More than 64 KiB of stdin before the program's first output block qrsh
// forever: the script of bootstrap.h is smaller, and further bytes follow an answer. Output written just before a
// program's exit may be lost: an agent stays until the launcher has received all bytes (agent.h). If a signal ends
// qrsh, Grid Engine ends the whole job: the launcher does not signal qrsh, and qrsh ignores SIGPIPE.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/host.h"
#include "dlaunch/job_options.h"

namespace dlaunch::place {

/// The names of a manager's programs; the first installed program is used. Empty: no command reaches the manager's
/// nodes.
std::span<const std::string_view> manager_programs(plan::Manager::Kind kind);

/// The path of a manager's program, or a name for a search in PATH.
std::string manager_program_path(std::string_view name, const std::vector<std::string>& environment);

/// The GPUs of a Slurm step.
struct StepGpus {
  int each = 0;         ///< per node; 0: the job's own request
  bool differ = false;  ///< the number of each node is in Reach::step
};

/// True if a signal to the command may end the whole job.
bool signal_ends_job(plan::Manager::Kind kind);

/// Returns an empty string if the environment alone does not define a command, or if the command is not a byte stream.
/// {host} becomes the node, {step} becomes Reach::step. `environment`: the launcher's; some of its variables would
/// change the meaning of the command.
std::string manager_command(plan::Manager::Kind kind, const std::vector<std::string>& environment,
                            const std::string& program, StepGpus gpus = {});

/// How the manager starts agents that connect to the launcher; nullopt if manager_command() is as good.
std::optional<dlaunch::DialIn> manager_dial_in(plan::Manager::Kind kind, const std::vector<std::string>& environment,
                                               const std::string& program, StepGpus gpus = {});

}  // namespace dlaunch::place
