// The user's defaults, the weakest first:
// - the config file: --config FILE, else DLAUNCH_CONFIG, else dlaunch/config.toml below $XDG_CONFIG_HOME or ~/.config;
// - variables of MPI launchers, such as OMPI_MCA_*;
// - DLAUNCH_<OPTION> variables. An empty variable counts as unset.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"
#include "cli/options.h"
#include "cli/resolved_options.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

// The config file: `name = value` lines of TOML, read by toml++. Tables are not supported. Quotes around words such as
// never are optional, although TOML requires them. PURE.

/// Returns an Error with file:line for an unknown or duplicate name, and for an option that is not a preference. `find`
/// also finds options of other launchers, for their own Error.
Result<std::vector<ParsedOption>> parse_config(std::string_view text, const std::string& path, const FindOption& find);

/// Converts a preference's text to the command line's form: true or false for flags, an empty template for `label =
/// true`. Returns an Error without `where` if a flag has another value.
Result<std::string> preference_value(const OptionSpec& spec, std::string_view text);

struct Preferences {
  std::vector<ParsedOption> given;   ///< the weakest first
  std::string file;                  ///< the config file; empty: no file was read
  std::vector<std::string> ignored;  ///< names of DLAUNCH_* variables that are not options
  std::vector<std::string> notes;    ///< about `ignored`, one line per note
};

/// Other launchers in the preferences.
struct ForeignPreferences {
  FindOption find;                      ///< also finds options of other launchers: an Error or a note names them
  std::vector<ParsedOption> variables;  ///< the options of their variables, the weakest first
};

/// `config` is --config as given, or null. A file in --config or DLAUNCH_CONFIG must exist; the default file may be
/// missing.
Result<Preferences> read_preferences(const ParsedOption* config, const ProcessContext& context,
                                     const ForeignPreferences& foreign);

// --show-config: the value and the source of each option, without the values of variables (-x). PURE.

std::string show_config(const ResolvedOptions& effective, const Preferences& preferences, Format format);

}  // namespace dlaunch::cli
