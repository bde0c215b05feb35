// The CPUs that a rankfile's slot= names, with Open MPI's meaning. PURE: parsed where the rankfile is read, resolved on
// the rank's host.
//
//   0-3,7      those cores of the host
//   1:0-2,4    those cores of socket 1; 1:* or s1: all of socket 1; 0:1,1:0-2 is a core of one and three of another
//   p4-7       those hardware threads, by the numbers of the system
//
// Cores and sockets are numbered from 0 in the order of the hardware over the whole machine, including those that may
// not be used. A core is all its threads.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "plan/binding.h"

namespace dlaunch::plan {

struct SlotRange {
  enum class Of { host, socket, threads };
  Of of = Of::host;
  int socket = 0;  ///< with Of::socket
  int first = 0;
  int last = 0;  ///< kAllCores: the last core
  bool operator==(const SlotRange&) const = default;
};

inline constexpr int kAllCores = -1;

/// Returns at least one range. The error says what is wrong with which word.
Result<std::vector<SlotRange>> parse_slot_list(std::string_view text);

/// The CPUs (os indices, ascending) to bind to. `whole` has all hardware threads of the host, in the hardware's order;
/// `allowed` those that may be used. It is an error to name a CPU that does not exist or a core without an allowed
/// thread; of other cores the allowed threads are taken.
Result<std::vector<std::uint32_t>> cpus_of_slots(const Topology& whole, const std::set<std::uint32_t>& allowed,
                                                 std::string_view slots);

}  // namespace dlaunch::plan
