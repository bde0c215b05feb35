// Runs the real launcher, guardians and workers in one world, and holds the promises to what happened there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenario.h"

namespace sim {

struct Report {
  std::vector<std::string> broken;  ///< promises, sorted
  std::vector<std::string> trace;
  std::string summary;       ///< one line: cause, exit code, time, rounds
  std::uint64_t digest = 0;  ///< of the trace: equal for two runs of the same scenario
};

Report run_case(const Scenario& scenario, bool tracing);

}  // namespace sim
