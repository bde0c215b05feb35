// The actions that a PmiServer requests, and the limits of keys and values in PMI-1 and PMI-2. Values. PURE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/spawn_program.h"

namespace dlaunch::pmi {

/// Send these bytes to the client of the rank.
struct Send {
  std::uint32_t rank;
  std::string bytes;
  bool operator==(const Send&) const = default;
};
/// Close the connection of the client. The rank continues.
struct CloseConnection {
  std::uint32_t rank;
  bool operator==(const CloseConnection&) const = default;
};
/// Print a text for the user.
struct PrintWarning {
  std::string text;
  bool operator==(const PrintWarning&) const = default;
};
/// Every rank of this host waits in a fence. `pairs` (key, value, …) are for the other hosts; the ranks in `gone` never
/// arrive.
struct Gather {
  std::vector<std::string> pairs;
  std::vector<std::uint32_t> gone;
  bool operator==(const Gather&) const = default;
};

enum class NameOp : std::uint8_t { publish = 0, lookup = 1, unpublish = 2 };

struct AskName {
  std::uint32_t rank;
  NameOp op;
  std::string service;
  std::string port;
  bool operator==(const AskName&) const = default;
};
/// The rank called MPI_Abort.
struct Abort {
  std::uint32_t rank;
  std::uint32_t code;
  bool operator==(const Abort&) const = default;
};
/// The rank requests another world (MPI_Comm_spawn) with `pairs` (key, value, …) in its space, and waits.
struct AskSpawn {
  std::uint32_t rank;
  std::vector<SpawnProgram> programs;
  std::vector<std::string> pairs;
  bool operator==(const AskSpawn&) const = default;
};

using Action = std::variant<Send, CloseConnection, PrintWarning, Gather, AskName, AskSpawn, Abort>;
using Actions = std::vector<Action>;

// The limits of Hydra. Clients compute with these values: vallen_max must be even, also after the reduction to the
// length of a line.
inline constexpr size_t kMaxName = 256;
inline constexpr size_t kMaxKey = 64;
inline constexpr size_t kMaxValue = 1024;

inline constexpr std::string_view kMapping = "PMI_process_mapping";
inline constexpr std::string_view kDead =
    "PMI_dead_processes";  ///< for programs that continue without a dead rank, which dlaunch does not support

}  // namespace dlaunch::pmi
