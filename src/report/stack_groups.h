// The stack report: ranks with the same stack form one group, the smallest group first. The texts come from other
// processes, so all of them are escaped and limited in length. PURE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dlaunch/worlds.h"

namespace dlaunch::report {

/// One rank at one moment.
struct RankStack {
  int rank = 0;  ///< rank id
  std::string host = {};
  std::string frames = {};                    ///< one line per frame of the main thread, innermost first
  char state = '?';                           ///< as in proc(5)
  bool stopped = false;                       ///< SIGSTOP, job control
  bool traced = false;                        ///< by a debugger
  bool in_call = false;                       ///< in a call that waits for other ranks, such as MPI_Recv
  std::string wait = {};                      ///< function in the kernel; empty: running or unknown
  std::optional<double> cpu = {};             ///< percent of one CPU
  std::optional<std::int64_t> progress = {};  ///< the last number that the rank wrote
};

struct StackReport {
  std::string title = {};
  Worlds worlds = {};
  std::vector<RankStack> ranks = {};
  std::vector<std::string> silent_hosts = {};  ///< hosts that did not respond
  std::set<int> silent_ranks = {};             ///< ranks of silent_hosts
  std::set<std::string> remarks = {};          ///< why stacks are missing
  std::string last = {};                       ///< the path of all threads' stacks, and a hint
};

inline constexpr std::size_t kMostGroups = 16;  ///< shown groups
inline constexpr std::size_t kMostFrames = 24;  ///< shown frames of a group

/// Complete lines for stderr. Only the first line starts with "dlaunch: ".
std::string stacks_text(const StackReport& report);

/// "ranks 0-2,4-7 (node1, node2)"
std::string ranks_on_hosts(const Worlds& worlds, const std::vector<RankStack>& ranks);

}  // namespace dlaunch::report
