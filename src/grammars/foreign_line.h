// Converts another launcher's command line to dlaunch's options, and prints the equivalent dlaunch command. PURE.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/resolved_options.h"
#include "grammars/arguments.h"
#include "grammars/launcher_line.h"

namespace dlaunch::cli {

/// Reads another launcher's line. dlaunch's own options before the line override the launcher's options.
Result<Arguments> read_foreign_line(const LauncherSpec& launcher, std::span<const std::string> words,
                                    const ProcessContext& context, std::vector<std::string>& notes);

/// Returns the dlaunch command for the programs and the options in effect, except the user's preferences. `as`: the
/// value of --as in the command, for defaults that do not have an option; empty: no --as.
std::string equivalent_line(const ResolvedOptions& resolved, const Arguments& arguments, std::string_view as);

}  // namespace dlaunch::cli
