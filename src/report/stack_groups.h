// The picture of what all ranks of a job do: ranks that stand at the same place are one group, the smallest group
// first. What it shows comes from others' processes, so all of it is made printable and bounded. PURE.
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
  int rank = 0;  ///< its id
  std::string host = {};
  std::string frames = {};                    ///< a line for each frame of the main thread, innermost first
  char state = '?';                           ///< as in proc(5)
  bool stopped = false;                       ///< SIGSTOP, job control
  bool traced = false;                        ///< by a debugger
  bool in_call = false;                       ///< that waits for other ranks, as MPI_Recv
  std::string wait = {};                      ///< where in the kernel; empty: it runs, or it is unknown
  std::optional<double> cpu = {};             ///< of one CPU, in percent
  std::optional<std::int64_t> progress = {};  ///< the last number that it wrote
};

struct StackPicture {
  std::string title = {};
  Worlds worlds = {};
  std::vector<RankStack> ranks = {};
  std::vector<std::string> silent_hosts = {};  ///< that did not answer
  std::set<int> silent_ranks = {};             ///< of those hosts
  std::set<std::string> remarks = {};          ///< why something is missing
  std::string last = {};                       ///< where all threads' stacks are, and what to do
};

inline constexpr std::size_t kMostGroups = 16;  ///< that are shown
inline constexpr std::size_t kMostFrames = 24;  ///< of a group

/// Whole lines for stderr, the first as a message of dlaunch's.
std::string stacks_text(const StackPicture& picture);

/// "ranks 0-2,4-7 (node1, node2)"
std::string ranks_on_hosts(const Worlds& worlds, const std::vector<RankStack>& ranks);

}  // namespace dlaunch::report
