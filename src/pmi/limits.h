// What keys and values may be, in both dialects. PURE.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch::pmi {

// Hydra's. Clients compute with these: vallen_max must stay even once they have clamped it to what fits in a line.
inline constexpr size_t kMaxName = 256;
inline constexpr size_t kMaxKey = 64;
inline constexpr size_t kMaxValue = 1024;

inline constexpr std::string_view kMapping = "PMI_process_mapping";
inline constexpr std::string_view kDead =
    "PMI_dead_processes";  ///< asked by runs that live on without a rank; none does

}  // namespace dlaunch::pmi
