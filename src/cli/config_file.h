// The config file: `name = value` lines of TOML, read by toml++; no tables. Words that TOML requires in quotes, such as
// never, may stand without. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// An unknown name, a repeated one, and an option that cannot have a default are errors with file:line.
Result<std::vector<ParsedOption>> parse_config(std::string_view text, const std::string& path);

/// A preference's text as the command line would have it: true and false for flags, and no template for a label that is
/// only switched on. An Error without `where` when a flag has another value.
Result<std::string> preference_value(const OptionSpec& spec, std::string_view text);

}  // namespace dlaunch::cli
