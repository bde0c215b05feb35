// The line of a launcher that has options of its own, as dlaunch's own options, and dlaunch's own line for it. PURE.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/launcher_line.h"
#include "cli/resolved_options.h"

namespace dlaunch::cli {

/// The words of such a line, with dlaunch's own options that stand before it, which win.
Result<Arguments> read_foreign_line(const LauncherSpec& launcher, std::span<const std::string> words,
                                    const ProcessContext& context, std::vector<std::string>& notes);

/// dlaunch's own line for the options in effect that are not the user's preferences, and the programs. `as`: the
/// grammar of dlaunch's own options whose defaults no option says, which the line names; empty: none.
std::string equivalent_line(const ResolvedOptions& resolved, const Arguments& arguments, std::string_view as);

}  // namespace dlaunch::cli
