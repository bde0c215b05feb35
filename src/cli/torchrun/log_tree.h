// torchrun's files of the ranks' output, as dlaunch's own options. PURE.
#pragma once

#include <vector>

#include "cli/launcher_line.h"

namespace dlaunch::cli {

/// What --log-dir, -r, -t and the template of a line's prefix amount to: files
/// DIR/ID_XXXXXXXX/attempt_0/{local_rank}/…, the error file among them, and a label where -t shows their lines, too.
/// With several nodes {host} stands before attempt_0: all files are on node 0.
Result<std::vector<ParsedOption>> log_options(const LauncherLine& line, int nodes, const ProcessContext& context);

}  // namespace dlaunch::cli
