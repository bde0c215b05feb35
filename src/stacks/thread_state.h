// The registers and the stack of a thread of another process, at one moment. A thread that is blocked is left alone
// where that is enough; one that runs is stopped for some microseconds, from when it has a CPU.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stacks/memory.h"
#include "stacks/unwind_table.h"

namespace dlaunch::stacks {

/// /proc/PID/task/TID/syscall.
struct SystemCall {
  bool running = false;  ///< in no system call
  long number = -1;
  Registers registers = {};  ///< the stack pointer and where it goes on; none where it runs
};
/// nullopt: it makes no sense, or the kernel does not tell.
std::optional<SystemCall> parse_system_call(std::string_view text);

/// Whether a thread that is stopped in this system call for a moment is known to go on with it. Others may return EINTR
/// to the program, though it has no signal handler (signal(7)).
bool goes_on_after_a_stop(long system_call);

struct ThreadState {
  Registers registers = {};
  std::uint64_t stack = 0;  ///< address of `bytes`
  std::string bytes = {};
};

/// The bytes of a stack, from its pointer on.
std::string copy_stack(const ReadMemory& read, std::uint64_t stack_pointer);

/// Stops the thread (ptrace), copies its registers and stack, and lets it go on. A signal that came meanwhile is
/// delivered. nullopt: that is not permitted, or takes too long.
std::optional<ThreadState> stop_and_copy(pid_t tid, const ReadMemory& read, Time deadline);

}  // namespace dlaunch::stacks
