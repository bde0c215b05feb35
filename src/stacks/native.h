// The native frames of a thread: functions of programs and libraries in machine code, by the tables that they carry for
// exceptions, and their names by the symbols in their files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stacks/modules.h"
#include "stacks/sample.h"
#include "stacks/switch_count.h"

namespace dlaunch::stacks {

struct NativeStack {
  std::vector<Frame> frames = {};  ///< innermost first; `file` is the path of the program or library
  bool whole = false;              ///< it reaches the outermost frame
  bool in_call = false;            ///< within a call that waits for other ranks, as MPI_Recv: `frames` begin with it
  bool stopped = false;            ///< the thread was stopped for it
  std::optional<SwitchCount> rest =
      {};                          ///< where it was stopped: once it was back where it had been, with the same stack
  std::uint64_t callers_hash = 0;  ///< of what those outside that call keep on the stack and in registers; it changes
                                   ///< as they go on
};

/// `state`: of the thread, as in proc(5). A thread that runs, and one whose frames need registers that the kernel does
/// not show, is stopped for some microseconds. None where that is not permitted. After the deadline it may be
/// incomplete.
NativeStack native_stack(Modules& modules, pid_t tid, char state, Time deadline);

/// Whether a function belongs to the interface of a library in which ranks wait for each other: MPI, NCCL, HCCL, UCX,
/// Gloo, PyTorch's c10d. `name` may be mangled.
bool waits_for_ranks(std::string_view name);

}  // namespace dlaunch::stacks
