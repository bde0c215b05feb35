// The user's defaults: the config file ($XDG_CONFIG_HOME or ~/.config, then dlaunch/config.toml; --config FILE or
// DLAUNCH_CONFIG instead), then OMPI_MCA_* variables (cli/mpirun/mca.h), then DLAUNCH_<OPTION> variables; later ones
// win. An empty variable counts as unset.
#pragma once

#include <string>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

struct Preferences {
  std::vector<ParsedOption> given;   ///< the weakest first
  std::string file;                  ///< the config file that was read; empty: none
  std::vector<std::string> ignored;  ///< names of DLAUNCH_* variables that are no option
  std::vector<std::string> notes;    ///< about `ignored`, a line each
};

/// `config` is --config as given, or null. A file that was named must exist; the default one need not.
Result<Preferences> read_preferences(const ParsedOption* config, const ProcessContext& context);

}  // namespace dlaunch::cli
