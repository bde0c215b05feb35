// Finds the program that a name means, in the rank's own PATH and directory, before anything is started.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace dlaunch::agent {

/// Why a rank cannot start.
struct Refusal {
  int error;         ///< errno; of a program that is not found ENOENT, EACCES (found but not executable), EISDIR, …
  std::string what;  ///< the step with its operand: "cannot find train in PATH"
};

/// A name with a slash is taken as it is, relative to `wdir`; any other is looked up in the PATH of `env`.
tl::expected<std::string, Refusal> find_program(const std::string& name, const std::vector<std::string>& env,
                                                const std::string& wdir);

/// The program's path, made absolute.
std::string absolute(const std::string& path, const std::string& wdir);

/// Why execve gives ENOENT for an existing program: "the interpreter /bin/sh^M of ./script is not there".
std::string missing_interpreter(const std::string& path, const std::string& wdir);

}  // namespace dlaunch::agent
