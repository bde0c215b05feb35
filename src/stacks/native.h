// The native frames of a thread: functions in machine code, found by the unwind tables of programs and libraries, with
// names from the symbols of their files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "stacks/modules.h"
#include "stacks/sample.h"
#include "stacks/thread_state.h"

namespace dlaunch::stacks {

struct NativeStack {
  std::vector<Frame> frames = {};  ///< innermost first; `file` is the path of the program or library
  bool whole = false;              ///< true: up to the outermost frame
  bool in_call = false;            ///< in a call that waits for other ranks, as MPI_Recv: `frames` start with this call
  bool stopped = false;            ///< the thread was stopped
  std::optional<SwitchCount> rest =
      /// counters at the place of the stop, if the thread returned there with the same stack
      {};
  /// hash of stack and registers of the callers of this call; it changes while the program advances
  std::uint64_t callers_hash = 0;
};

/// `state` of the thread, as in proc(5). Stops a running thread for some microseconds, and a thread whose frames need
/// registers that the kernel does not show. Without permission the result is empty. After the budget is used up, the
/// result may be incomplete.
NativeStack native_stack(Modules& modules, pid_t tid, char state, Budget& budget);

/// Returns true for an interface function of a library in which ranks wait for each other: MPI, NCCL, HCCL, UCX, Gloo,
/// c10d of PyTorch. `name` may be mangled.
bool waits_for_ranks(std::string_view name);

}  // namespace dlaunch::stacks
