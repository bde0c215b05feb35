// One program of a spawn (MPI_Comm_spawn), whichever protocol asked for it. A value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch {

inline constexpr std::uint32_t kMostPrograms = 256;  ///< in one spawn

struct SpawnProgram {
  std::vector<std::string> argv;
  std::uint32_t ranks = 1;
  std::string wdir = {};                ///< empty: not said
  std::vector<std::string> env = {};    ///< NAME=VALUE
  std::vector<std::string> hosts = {};  ///< the only ones that it may run on; empty: all
  bool operator==(const SpawnProgram&) const = default;
};

}  // namespace dlaunch
