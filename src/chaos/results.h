// The results of a chaos run for programs, and the plan in them. PURE.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/verdict.h"

namespace dlaunch::chaos {

struct Results {
  std::uint64_t seed = 0;
  std::vector<std::string> command = {};
  std::vector<Injection> injections = {};
  std::vector<Check> checks = {};
  int exit_code = 0;  ///< end of the chaos run
  int job_code = 0;   ///< of the job
  double seconds = 0;
};

std::string to_json(const Results& results);
std::string to_junit(const Results& results);

/// The faults of a plan: the JSON of earlier results, or text with one fault per line, in which # starts a comment.
/// `name` is the name of the file, for errors.
Result<std::vector<Fault>> read_plan(std::string_view text, const std::string& name);

}  // namespace dlaunch::chaos
