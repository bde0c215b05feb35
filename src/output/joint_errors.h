// Errors of files, also of several files in one text. PURE.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::output {

/// A step of --keep-logs failed. `error`: an errno.
Error cannot_keep(const std::string& step, int error);
/// The disk process was killed. `oom`: the text of OomWatch about out-of-memory kills; may be empty.
Error killed_error(const std::string& step, const std::string& oom);
/// The time limit passed before the end of the step.
Error no_answer(const std::string& step);

/// At most 8 paths, and the number of the others.
std::string path_list(const std::vector<std::string>& paths);

/// Joins errors such as "cannot write PATH" that have the same reason: "cannot write PATH, PATH and 3 other files".
std::vector<Error> join_errors(const std::vector<Error>& errors);

}  // namespace dlaunch::output
