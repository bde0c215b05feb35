// The limits of keys and values in PMI-1 and PMI-2. PURE.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch::pmi {

// The limits of Hydra. Clients compute with them: vallen_max must be even, also after the reduction to the length of a
// line.
inline constexpr size_t kMaxName = 256;
inline constexpr size_t kMaxKey = 64;
inline constexpr size_t kMaxValue = 1024;

inline constexpr std::string_view kMapping = "PMI_process_mapping";
inline constexpr std::string_view kDead =
    "PMI_dead_processes";  ///< for programs that continue without a dead rank, which dlaunch does not support

}  // namespace dlaunch::pmi
