// One program of a spawn (MPI_Comm_spawn), for every protocol. A value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch {

inline constexpr std::uint32_t kMostPrograms = 256;  ///< limit for one spawn

struct SpawnProgram {
  std::vector<std::string> argv;
  std::uint32_t ranks = 1;
  std::string wdir = {};                ///< empty: not set
  std::vector<std::string> env = {};    ///< NAME=VALUE
  std::vector<std::string> hosts = {};  ///< the only allowed hosts; empty: all
  bool operator==(const SpawnProgram&) const = default;
};

}  // namespace dlaunch
