// srun's lines as dlaunch's own options. options.cpp has a row for each of its options; docs/migrate/srun.md is the user's
// side. PURE, except for the files that options name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& srun_launcher();

/// LauncherSpec::make.
Result<void> make_srun_job(LauncherJob& job);

/// How many ranks there are, on which of the Slurm job's nodes, and in which order: as srun decides it for a step.
Result<void> add_srun_layout(LauncherJob& job);

/// CPUs and devices of ranks.
Result<void> add_srun_binding(LauncherJob& job);

/// "gpu:a100:4", "a100:4" and "4" are 4; "gpu" and "gpu:a100" are 1.
std::optional<int> srun_gpus(std::string_view text);

/// --gpus-per-task above 1. `argv` is the program, which gets its rank's devices by a shell in front of it.
Result<void> add_srun_gpus(LauncherJob& job, std::vector<std::string>& argv);

/// -o, -e, -i, -l and --pty. `argv` is the program, which opens a file of -i by itself.
Result<void> add_srun_streams(LauncherJob& job, std::vector<std::string>& argv);

/// --multi-prog: the program that a shell chooses by SLURM_PROCID.
Result<std::vector<std::string>> srun_multi_prog(LauncherJob& job, const std::vector<std::string>& words);

}  // namespace dlaunch::cli
