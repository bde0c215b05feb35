// The defaults of a grammar. Called as mpirun, mpiexec or orterun, dlaunch uses Open MPI's defaults wherever they
// differ from its own; called as mpiexec.hydra, Hydra's; as torchrun, torchrun's. docs/migrate/mpirun.md and torchrun.md have
// the tables. PURE.
#pragma once

#include <vector>

#include "cli/command_line.h"
#include "cli/option_spec.h"
#include "cli/resolved_options.h"

namespace dlaunch::cli {

/// The grammar's defaults and its own variables as options; they are weaker than any other source.
std::vector<ParsedOption> personality_defaults(Grammar grammar, const ProcessContext& context);

/// Applies the grammar's defaults that are no option's value, unless something else was given.
void settle_personality(Grammar grammar, const ResolvedOptions& effective, Options& options);

}  // namespace dlaunch::cli
