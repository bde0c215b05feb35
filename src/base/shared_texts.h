// Texts that several modules make or recognize: the forms of errors, the reasons why a rank did not start, and the
// words for a lack of memory. With the entries of the environment by which a sweep finds the processes of a job.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch {

inline constexpr std::string_view kCannotExecute = "cannot execute ";  // + the path
inline constexpr std::string_view kProgram = "program \"";             // + the name + kNotInPath
inline constexpr std::string_view kNotInPath = "\": not found in PATH";
inline constexpr std::string_view kCannotEnter = "cannot enter ";  // + a directory
inline constexpr std::string_view kCannotEnterWorkingDirectory = "cannot enter the working directory ";  // + its path

inline constexpr std::string_view kCannotRemove = "cannot remove ";  // + its path

/// The position of ": cannot remove PATH…" in a text about a file that is left on a host; npos: a process is left.
inline size_t find_left_file(std::string_view left) { return left.find(": cannot remove "); }

inline constexpr std::string_view kDiskIsSilent = "the disk does not respond";

/// The number of texts about processes among the texts about processes and files that are left on hosts. A file whose
/// disk does not respond counts: a process waits for the disk.
inline size_t left_processes(const std::vector<std::string>& left) {
  return static_cast<size_t>(std::ranges::count_if(left, [](std::string_view each) {
    return find_left_file(each) == std::string_view::npos || each.ends_with(kDiskIsSilent);
  }));
}

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

// The forms of errors about values and options: each kind of error has the same words in every module. PURE.

/// `invalid KIND "VALUE": expected EXPECTED`
inline Error invalid_value(std::string_view kind, std::string_view value, std::string_view expected,
                           std::string hint = {}) {
  std::string what = "invalid ";
  what.append(kind).append(" \"").append(value).append("\"");
  return {.where = "", .what = std::move(what), .why = "expected " + std::string(expected), .hint = std::move(hint)};
}

/// `A conflicts with B: WHY`; `why` may be empty.
inline Error conflict(std::string_view a, std::string_view b, std::string why,
                      std::string hint = "remove one of the options") {
  std::string what(a);
  what.append(" conflicts with ").append(b);
  return {.where = "", .what = std::move(what), .why = std::move(why), .hint = std::move(hint)};
}

/// A step of the disk follows.
inline const std::string kWaitedForDisk = "the start of the ranks waited for the disk: ";

/// `WHAT: WHY`, or `WHAT`: an error as a part of another text.
inline std::string what_and_why(const Error& error) {
  return error.why.empty() ? error.what : error.what + ": " + error.why;
}

/// `A requires B: WHY`; `b` is an option or a condition, `why` may be empty.
inline tl::unexpected<Error> requires_other(std::string_view a, std::string_view b, std::string why = "",
                                            std::string hint = "") {
  std::string what(a);
  what.append(" requires ").append(b);
  return fail({.where = "", .what = std::move(what), .why = std::move(why), .hint = std::move(hint)});
}

}  // namespace dlaunch
