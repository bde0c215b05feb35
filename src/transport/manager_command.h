// The command line by which a resource manager starts a program on one of its job's nodes, as --exec takes it. PURE.
//
// Grid Engine's qrsh has traps (8.1.9). More than 64 KiB on its stdin before the program there has said a word wedge it
// for ever: the script of bootstrap.h is smaller, and all else follows an answer. What a program writes right before it
// ends may be lost: an agent stays until the launcher has all (agent.h). And where qrsh ends by a signal, Grid Engine
// ends the whole job: it is not signalled, and ignores SIGPIPE.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/host.h"
#include "dlaunch/job_options.h"

namespace dlaunch::transport {

/// The names of those of which it takes the first that is there; none: no command leads to its nodes.
std::span<const std::string_view> manager_programs(plan::Manager::Kind kind);

/// Where this one of its programs is: a path, or a name to be looked up in PATH.
std::string manager_program_path(std::string_view name, const std::vector<std::string>& environment);

/// The GPUs that a step of Slurm's is to ask for.
struct StepGpus {
  int each = 0;         ///< on each node; 0: what the job asked for
  bool differ = false;  ///< each node's number is in Reach::step
};

/// Whether a signal to the command may end the whole job.
bool signal_ends_job(plan::Manager::Kind kind);

/// Empty: it has none that is known from the environment alone, or none that is a stream. {host} stands for the node,
/// {step} for Reach::step. `environment`: the launcher's, in which some variables would change what the command means.
std::string manager_command(plan::Manager::Kind kind, const std::vector<std::string>& environment,
                            const std::string& program, StepGpus gpus = {});

/// How it starts agents that connect to the launcher; none where its command is as good.
std::optional<dlaunch::DialIn> manager_dial_in(plan::Manager::Kind kind, const std::vector<std::string>& environment,
                                               const std::string& program, StepGpus gpus = {});

}  // namespace dlaunch::transport
