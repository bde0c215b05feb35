// The status numbers of PMIx for its clients; equal in every version of libpmix. PURE.
#pragma once

#include <cstdint>

namespace dlaunch::pmix {

enum class PmixStatus : std::int32_t {
  ok = 0,
  failed = -1,
  unreachable = -25,
  bad_parameter = -27,
  out_of_memory = -32,
  not_found = -46,
  not_supported = -47,
  duplicate_key = -53,
};

}  // namespace dlaunch::pmix
