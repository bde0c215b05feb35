// Translates torchrun's options for log files to dlaunch's own options. PURE.
#pragma once

#include <vector>

#include "grammars/launcher_line.h"

namespace dlaunch::cli {

/// Translates --log-dir, -r, -t and --log-line-prefix-template. The result names the files
/// DIR/ID_XXXXXXXX/attempt_0/{local_rank}/stdout.log, stderr.log and error.json, and the label for -t.
/// With several nodes {host} precedes attempt_0, because node 0 stores all files.
Result<std::vector<ParsedOption>> log_options(const LauncherLine& line, int nodes, const ProcessContext& context);

}  // namespace dlaunch::cli
