// The programs of a SpawnAsk, which has their words one behind the other. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/message.h"

namespace dlaunch::wire {

struct SpawnProgram {
  std::uint32_t ranks = 1;
  std::string wdir;  ///< empty: not said
  std::vector<std::string> argv;
  std::vector<std::string> env;    ///< NAME=VALUE
  std::vector<std::string> hosts;  ///< the only ones that it may run on; none: all
  bool operator==(const SpawnProgram&) const = default;
};

void add(SpawnAsk& ask, SpawnProgram program);

/// nullopt when its lists do not fit each other.
std::optional<std::vector<SpawnProgram>> programs(const SpawnAsk& ask);

}  // namespace dlaunch::wire
