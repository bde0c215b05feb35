// The defaults of a grammar: Open MPI's if dlaunch is called as mpirun, mpiexec or orterun; Hydra's for mpiexec.hydra;
// torchrun's for torchrun. docs/migrate/mpirun.md and torchrun.md list the defaults. PURE.
#pragma once

#include <string>
#include <vector>

#include "cli/grammar.h"
#include "cli/option_spec.h"
#include "cli/resolved_options.h"

namespace dlaunch::cli {

/// The grammar's defaults as options. All other sources override these options.
std::vector<ParsedOption> personality_defaults(Grammar grammar);

/// The options for MPIEXEC_TIMEOUT and, in Hydra's grammar, for variables of MPICH and Intel MPI.
std::vector<ParsedOption> launcher_variables(Grammar grammar, const ProcessContext& context,
                                             std::vector<std::string>& notes);

/// Applies the grammar's defaults that do not have an option, unless given options override them.
void settle_personality(Grammar grammar, const ResolvedOptions& effective, Options& options);

}  // namespace dlaunch::cli
