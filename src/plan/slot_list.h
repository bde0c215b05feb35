// Resolves slot= of a rankfile to CPUs, with Open MPI's meaning. Pure. The launcher parses the list; the rank's host
// resolves it.
//
//   0-3,7      those cores of the host
//   1:0-2,4    those cores of socket 1; 1:* or s1: all of socket 1; 0:1,1:0-2 is a core of one and three of another
//   p4-7       those hardware threads, by the numbers of the system
//
// Cores and sockets are numbered from 0 in hardware order over the whole machine, including CPUs that dlaunch may not
// use. A core means all its threads.
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

/// Returns at least one range. The error names the word and the problem.
Result<std::vector<SlotRange>> parse_slot_list(std::string_view text);

/// The CPUs (os indices, ascending) for the binding. `whole` has all hardware threads of the host in hardware order;
/// `allowed` has the usable threads. The result has only the allowed threads of each core. An Error for an unknown CPU,
/// and for a core without an allowed thread.
Result<std::vector<std::uint32_t>> cpus_of_slots(const Topology& whole, const std::set<std::uint32_t>& allowed,
                                                 std::string_view slots);

}  // namespace dlaunch::plan
