// Whose defaults hold. Called as mpirun, mpiexec or orterun, dlaunch keeps those of Open MPI wherever they differ from
// its own, and called as mpiexec.hydra those of Hydra: docs/mpirun.md has the table. PURE.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cli/arguments.h"
#include "cli/option_spec.h"
#include "cli/resolved_options.h"

namespace dlaunch::cli {

/// A value of --personality: "ompi" (also mpirun, prrte), "hydra" (also mpich), "dlaunch".
std::optional<Personality> personality_named(std::string_view value);

/// By the base name of argv[0], "mpirun" or "mpirun.any", but for "mpiexec.hydra" and Debian's "mpiexec.mpich";
/// --personality in the first group wins.
Personality personality_of(std::string_view program_name, std::span<const ParsedOption> options);
Personality personality_of(std::string_view program_name);

/// Options that its defaults stand for, and its own variables: the weakest of all that is given.
std::vector<ParsedOption> personality_defaults(Personality personality, const ProcessContext& surroundings);

/// Its defaults that are no option's value, where nothing that was given says otherwise.
void settle_personality(Personality personality, const ResolvedOptions& effective, Options& options);

}  // namespace dlaunch::cli
