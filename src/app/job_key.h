// Reads the key of --same-line: from a file readable only by its owner, or from DLAUNCH_KEY.
#pragma once

#include <string>
#include <vector>

#include "dialback/job_key.h"
#include "dlaunch/error.h"

namespace dlaunch::app {

inline constexpr const char* kKeyVariable = "DLAUNCH_KEY";

/// Removes DLAUNCH_KEY from this process's environment and from the copy `environment`, so that children and /proc do
/// not have the key. Always called, because ranks must never see the key. Returns the key; empty if the variable is not
/// set.
std::string take_key_variable(std::vector<std::string>& environment);

/// `file` takes precedence over `text`, the value of DLAUNCH_KEY. An Error never contains the key.
Result<dialback::Secret> choose_key(const std::string& file, const std::string& text);

}  // namespace dlaunch::app
