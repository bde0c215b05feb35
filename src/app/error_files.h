// --error-file: ranks are told by TORCHELASTIC_ERROR_FILE where to write why they failed, and the first failure is told
// by what its rank wrote there. For ranks on this machine; elsewhere, and without the option, agents have such files
// (wire::WroteError).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::app {

/// Adds the variable to the ranks of this machine, or replaces that of an earlier round. `name` is a template, empty
/// for none; what -x set stays.
Result<void> add_error_files(const std::string& name, plan::Plan& plan);

/// Refuses it where it would do nothing, since no rank is on this machine.
Result<void> check_error_files_serve(const std::string& name, const plan::Plan& plan);

/// Makes the files' directories, and removes what an earlier job left in their place.
Result<void> clear_error_files(const plan::Plan& plan);

struct ErrorFile {
  std::string path;                ///< or the variable's name, where the file is the agent's own
  std::vector<std::string> words;  ///< its last lines
};

/// What a rank wrote; none when it has no such file, or nothing that can be read. `sent`: what agents have sent, by
/// rank.
std::optional<ErrorFile> read_error_file(const plan::Plan& plan, int rank, const std::map<int, std::string>& sent);

}  // namespace dlaunch::app
