// Translates command lines of Slurm's srun to dlaunch's own options. options.cpp has one row per option;
// docs/migrate/srun.md is the page for users. PURE, except for files named by options.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammars/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& srun_launcher();

/// LauncherSpec::make.
Result<void> make_srun_job(LauncherJob& job);

/// The Slurm job around dlaunch; nullptr: no job.
const place::ManagerJob* slurm_job(const LauncherJob& job);

/// Replaces --tres-per-task and --tres-bind by -c, --gpus-per-task and --gpu-bind. Slurm sets the variables
/// SLURM_TRES_PER_TASK and SLURM_TRES_BIND for these options of salloc and sbatch. LauncherSpec::replace.
Result<void> replace_srun_tres(LauncherLine& line);

/// Adds the number of ranks, their nodes and their order, by srun's rules for a step. If no option sets the number, at
/// least `least` ranks. Returns the number.
Result<int> add_srun_layout(LauncherJob& job, int least);

/// Adds the options for CPUs and devices of ranks.
Result<void> add_srun_binding(LauncherJob& job);

/// Parses a number of devices: "gpu:a100:4", "a100:4" and "4" are 4; "gpu" and "gpu:a100" are 1.
std::optional<int> srun_gpus(std::string_view text);

/// The number of --gpus-per-task; null if not given, and for 0, which srun ignores.
const ParsedOption* srun_gpus_per_task(const LauncherLine& line);

/// --gpus-per-task above 1: inserts a shell in front of the program `argv`. The shell selects the rank's devices.
Result<void> add_srun_gpus(LauncherJob& job, std::vector<std::string>& argv);

/// -o, -e, -i, -l and --pty. For a file of -i, inserts a shell in front of the program `argv`.
Result<void> add_srun_streams(LauncherJob& job, std::vector<std::string>& argv, int ranks);

/// The file of --multi-prog.
struct SrunPrograms {
  std::string branches;              ///< of the `case` of a shell
  std::map<int, std::string> ranks;  ///< "FILE:LINE" of each rank with a line
  bool others = false;               ///< a line has all other ranks

  /// Returns a shell command that chooses the program by SLURM_PROCID. `words` are the file and further arguments.
  Result<std::vector<std::string>> command(const std::vector<std::string>& words, int ranks_of_job) const;
};

Result<SrunPrograms> read_srun_programs(const ProcessContext& context, const std::string& file);

}  // namespace dlaunch::cli
