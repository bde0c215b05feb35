// Where the key of --same-line comes from: a file that only its owner may read, or DLAUNCH_KEY.
#pragma once

#include <string>
#include <vector>

#include "dialback/job_key.h"
#include "dlaunch/error.h"

namespace dlaunch::app {

inline constexpr const char* kKeyVariable = "DLAUNCH_KEY";

/// Takes DLAUNCH_KEY out of this process's environment and out of `environment`, a copy of it, so that no child has it
/// and /proc shows none; with or without --same-line, for ranks shall never see it. Empty: it was not set.
std::string take_key_variable(std::vector<std::string>& environment);

/// `file` comes before `text`, which is DLAUNCH_KEY's. No Error holds any of the key.
Result<dialback::Secret> choose_key(const std::string& file, const std::string& text);

}  // namespace dlaunch::app
