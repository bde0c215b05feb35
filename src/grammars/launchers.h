// The launchers with their own option tables. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/grammar.h"
#include "cli/option_spec.h"
#include "cli/resolved_options.h"
#include "dlaunch/error.h"
#include "grammars/launcher_line.h"

namespace dlaunch::cli {

/// Returns null for a grammar with dlaunch's options.
const LauncherSpec* launcher_of(Grammar grammar);

/// The error for an option of another launcher in dlaunch's own grammar: `spelled` "--tee", `name` "tee". Returns
/// nullopt if no launcher has the option.
std::optional<Error> option_of_launchers(const std::string& spelled, std::string_view name);

/// Returns the launcher's defaults as options of the weakest source.
std::vector<ParsedOption> defaults_of(const LauncherSpec& launcher);

// Translates command lines of DeepSpeed's launcher to dlaunch's own options. deepspeed/options.cpp has one row per
// option; docs/migrate/others.md is the page for users. PURE, except for the hostfile and .deepspeed_env.

const LauncherSpec& deepspeed_launcher();

/// LauncherSpec::make
Result<void> make_deepspeed_job(LauncherJob& job);

// Translates command lines of MindSpore's msrun to dlaunch's own options. msrun/msrun.cpp has one row per option;
// docs/migrate/others.md is the page for users. PURE.

const LauncherSpec& msrun_launcher();

/// LauncherSpec::make
Result<void> make_msrun_job(LauncherJob& job);

// Translates command lines of torchrun (python -m torch.distributed.run) and torch.distributed.launch to dlaunch's own
// options. torchrun/options.cpp has one row per option; docs/migrate/torchrun.md is the page for users. PURE.

const LauncherSpec& torchrun_launcher();
const LauncherSpec& torch_launch_launcher();

/// LauncherSpec::make of torchrun and of torch.distributed.launch.
Result<void> make_torchrun_job(LauncherJob& job);
Result<void> make_torch_launch_job(LauncherJob& job);

// The defaults of a grammar: Open MPI's if dlaunch is called as mpirun, mpiexec or orterun; Hydra's for mpiexec.hydra;
// torchrun's for torchrun. docs/migrate/mpirun.md and torchrun.md list the defaults. PURE.

/// The grammar's defaults as options. All other sources override these options.
std::vector<ParsedOption> personality_defaults(Grammar grammar);

/// The options for MPIEXEC_TIMEOUT and, in Hydra's grammar, for variables of MPICH and Intel MPI.
std::vector<ParsedOption> launcher_variables(Grammar grammar, const ProcessContext& context,
                                             std::vector<std::string>& notes);

/// Applies the grammar's defaults that do not have an option, unless given options override them.
void settle_personality(Grammar grammar, const ResolvedOptions& effective, Options& options);

}  // namespace dlaunch::cli
