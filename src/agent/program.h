// Finds the program of a rank in the rank's own PATH and working directory, before the rank starts.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace dlaunch::agent {

/// Why a rank cannot start.
struct Refusal {
  int error;         ///< errno; for a missing program ENOENT, EACCES (not executable), EISDIR, …
  std::string what;  ///< the step with its operand: "cannot execute ./train"
};

/// A name with a slash is used as written, relative to `wdir`; any other name is searched in the PATH of `env`.
tl::expected<std::string, Refusal> find_program(const std::string& name, const std::vector<std::string>& env,
                                                const std::string& wdir);

/// The program's path, made absolute.
std::string absolute(const std::string& path, const std::string& wdir);

/// Why execve(2) would reject an executable file: its interpreter is missing, or it is a mere text.
std::optional<Refusal> cannot_start(const std::string& path, const std::string& wdir);

/// Explains ENOENT from execve for an existing program: the interpreter or the dynamic loader is missing.
std::string missing_interpreter(const std::string& path, const std::string& wdir);

}  // namespace dlaunch::agent
