// The config file: `name = value` lines of TOML, read by toml++. Tables are not supported. Quotes around words such as
// never are optional, although TOML requires them. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// Returns an Error with file:line for an unknown or duplicate name, and for an option that is not a preference. `find`
/// also finds options of other launchers, for their own Error.
Result<std::vector<ParsedOption>> parse_config(std::string_view text, const std::string& path, const FindOption& find);

/// Converts a preference's text to the command line's form: true or false for flags, an empty template for `label =
/// true`. Returns an Error without `where` if a flag has another value.
Result<std::string> preference_value(const OptionSpec& spec, std::string_view text);

}  // namespace dlaunch::cli
