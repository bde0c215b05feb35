// The native frames of a thread: functions in machine code, found by the unwind tables of programs and libraries, with
// names from the symbols of their files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stacks/call_frame.h"
#include "stacks/modules.h"
#include "stacks/process.h"
#include "stacks/sample.h"

namespace dlaunch::stacks {

// The registers and the stack of a thread of another process, at one moment. A blocked thread is not touched if its
// system call suffices; a running thread is stopped for some microseconds. Counters of the kernel prove that a thread
// has not run between two moments.

/// /proc/PID/task/TID/syscall.
struct SystemCall {
  bool running = false;  ///< not in a system call
  long number = -1;
  Registers registers = {};  ///< stack pointer and instruction pointer; empty while running
};
/// nullopt: malformed, or not reported by the kernel.
std::optional<SystemCall> parse_system_call(std::string_view text);

/// Returns true if a thread that is stopped for a moment in this system call is known to continue it. Other calls may
/// return EINTR to a program without a signal handler (signal(7)).
bool goes_on_after_a_stop(long system_call);

/// Returns true if the kernel can repeat the system call after EINTR without a change of the result.
bool may_be_repeated(long system_call);

struct ThreadState {
  Registers registers = {};
  std::uint64_t stack = 0;  ///< address of `bytes`
  std::string bytes = {};
};

/// The bytes of a stack above its pointer.
std::string copy_stack(const ReadMemory& read, std::uint64_t stack_pointer);

/// Stops the thread (ptrace), copies registers and stack, and continues the thread. A signal that came meanwhile is
/// delivered. A system call that the stop has interrupted is repeated, unless a signal handler runs; on arm64, the call
/// returns EINTR. nullopt: not permitted, or too slow.
std::optional<ThreadState> stop_and_copy(pid_t tid, const ReadMemory& read, Time deadline);

/// The counters of a thread that waits in a system call without a CPU. The kernel counts each loss of the CPU before it
/// shows the thread as waiting. Equal values prove that the thread did not run in between, and has the same stack.
struct SwitchCount {
  std::string counts;  ///< counts of context switches
  std::string call;    ///< /proc/PID/task/TID/syscall

  bool operator==(const SwitchCount&) const = default;
};

/// nullopt: the thread runs or waits for a CPU, or the kernel does not report it.
std::optional<SwitchCount> switch_count_of(pid_t pid, pid_t tid);

/// The number of waits of a running thread so far; nullopt: the thread waits, or the kernel does not report it.
std::optional<std::int64_t> waits_of_running(pid_t pid, pid_t tid);

struct NativeStack {
  std::vector<Frame> frames = {};  ///< innermost first; `file` is the path of the program or library
  bool whole = false;              ///< true: up to the outermost frame
  bool in_call = false;            ///< in a call that waits for other ranks, as MPI_Recv: `frames` start with this call
  bool stopped = false;            ///< the thread was stopped
  std::optional<SwitchCount> rest =
      /// counters at the place of the stop, if the thread returned there with the same stack
      {};
  /// with in_call: hash of stack and registers of the functions that made the call; changes if the program advances
  std::uint64_t callers_hash = 0;
};

/// `state` of the thread, as in proc(5). Stops the thread for some microseconds if it runs, or if its frames need
/// registers that the kernel does not show. Without permission the result is empty. After the budget is used up, the
/// result may be incomplete.
NativeStack native_stack(Modules& modules, pid_t tid, char state, Budget& budget);

/// Returns true for an interface function of a library in which ranks wait for each other: MPI, NCCL, HCCL, UCX, Gloo,
/// c10d of PyTorch. `name` may be mangled.
bool waits_for_ranks(std::string_view name);

}  // namespace dlaunch::stacks
