// Texts that several modules make or recognize: the reasons why a rank did not start, and the words for a lack of
// memory. With the entries of the environment by which a sweep finds the processes of a job.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch {

inline constexpr std::string_view kCannotExecute = "cannot execute ";  // + the path
inline constexpr std::string_view kProgram = "program \"";             // + the name + kNotInPath
inline constexpr std::string_view kNotInPath = "\": not found in PATH";
inline constexpr std::string_view kCannotEnter = "cannot enter ";  // + a directory
inline constexpr std::string_view kCannotEnterWorkingDirectory = "cannot enter the working directory ";  // + its path

/// After kCannotExecute and the path, before the interpreter's name.
inline constexpr std::string_view kMissingInterpreter = ": missing interpreter ";

/// After kNotInPath, before the name of a file in the working directory.
inline constexpr std::string_view kInWorkingDirectory = "; the working directory contains it: ./";

/// In the environment of every rank and sidecar. A sweep kills the processes with this entry.
inline std::string rank_mark(const std::string& job_id) { return "DLAUNCH_JOB_ID=" + job_id; }

/// In the environment of agents only, so that a sweep for ranks does not find them.
inline std::string agent_mark(const std::string& id) { return "DLAUNCH_AGENT_OF=" + id; }

/// For a process that the kernel killed for lack of memory.
inline constexpr const char* kOutOfMemory = ", out of memory (its cgroup counted an oom_kill)";

}  // namespace dlaunch
