// The limits of keys and values in both dialects. PURE.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch::pmi {

// Hydra's limits. Clients compute with them: vallen_max must stay even once clamped to what fits in a line.
inline constexpr size_t kMaxName = 256;
inline constexpr size_t kMaxKey = 64;
inline constexpr size_t kMaxValue = 1024;

inline constexpr std::string_view kMapping = "PMI_process_mapping";
inline constexpr std::string_view kDead =
    "PMI_dead_processes";  ///< read by programs that continue without a dead rank, which no job of dlaunch does

}  // namespace dlaunch::pmi
