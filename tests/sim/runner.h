// Runs many worlds in child processes: a crash breaks a promise like any other, and the next child goes on. Shrinks a
// world that breaks a promise.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "scenario.h"

namespace sim {

struct Battery {
  std::uint64_t count = 0;
  std::function<Scenario(std::uint64_t number)> world;
  double seconds = 0;  ///< a limit of the real time; 0: none
};

struct Found {
  std::uint64_t worlds = 0;  ///< that break the promise
  std::string example;       ///< the world with the fewest faults
  std::string summary;       ///< its end
};

struct Result {
  std::uint64_t worlds = 0;
  std::uint64_t broken = 0;  ///< worlds
  double seconds = 0;
  std::uint64_t digest = 0;            ///< of all traces by world: equal for two runs of the same battery
  std::map<std::string, Found> found;  ///< by promise
};

/// `processes`: children at the same time.
Result run_battery(const Battery& battery, int processes);

/// The simplest world found that still breaks the promise.
Scenario shrink(Scenario scenario, const std::string& promise);

}  // namespace sim
