// Texts of ranks that did not start. The agent makes the texts, and the summary selects its hints by them.
#pragma once

#include <string_view>

namespace dlaunch {

inline constexpr std::string_view kCannotExecute = "cannot execute ";  // + the path
inline constexpr std::string_view kCannotFind = "cannot find ";        // + the name
inline constexpr std::string_view kCannotEnter = "cannot enter ";      // + a directory
inline constexpr std::string_view kCannotEnterWorkingDirectory = "cannot enter the working directory ";  // + its path

/// After kCannotExecute and the path, before the interpreter's name.
inline constexpr std::string_view kMissingInterpreter = ": missing interpreter ";

/// After kCannotFind and the name, before the name of a file in the working directory.
inline constexpr std::string_view kInWorkingDirectory = "; the working directory contains it: ./";

}  // namespace dlaunch
