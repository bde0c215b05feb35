// The defaults that a grammar brings. Called as mpirun, mpiexec or orterun, dlaunch keeps those of Open MPI wherever
// they differ from its own, and called as mpiexec.hydra those of Hydra: docs/mpirun.md has the table. PURE.
#pragma once

#include <vector>

#include "cli/command_line.h"
#include "cli/option_spec.h"
#include "cli/resolved_options.h"

namespace dlaunch::cli {

/// Options that its defaults stand for, and its own variables: the weakest of all that is given.
std::vector<ParsedOption> personality_defaults(Grammar grammar, const ProcessContext& surroundings);

/// Its defaults that are no option's value, where nothing that was given says otherwise.
void settle_personality(Grammar grammar, const ResolvedOptions& effective, Options& options);

}  // namespace dlaunch::cli
