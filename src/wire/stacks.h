// The activity of the processes of a host's ranks. PURE. docs/wire.md has the bytes of each message; wire/message.h
// describes how to add a message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

// ---- launcher to agent ----

/// Sample the ranks of this host. The agent answers with Stacks, within 1.5 s. Requests are answered one after the
/// other.
struct SampleStacks {
  static constexpr std::uint8_t kType = 29;
  std::uint32_t id = 0;              ///< repeated in the answer
  std::vector<std::uint32_t> ranks;  ///< the requested ranks; empty: all ranks here
  bool whole = false;                ///< also the stacks of all threads of all processes, as text
  void fields(auto& a) { a(id, ranks, whole); }
  bool operator==(const SampleStacks&) const = default;
};

// ---- agent to launcher ----

/// The answer to SampleStacks. The lists match `ranks` by index, except `stacks`, `texts` and `remarks`. Ended ranks
/// are left out.
struct Stacks {
  static constexpr std::uint8_t kType = 57;
  static constexpr std::uint32_t kMost = 64u << 10;
  static constexpr std::uint8_t kTraced = 1;      ///< bits of `flags`: a debugger is attached to a process of the rank
  static constexpr std::uint8_t kStopped = 2;     ///< a process is stopped (SIGSTOP, job control)
  static constexpr std::uint8_t kPython = 4;      ///< `locals` and `all_locals` are hashes of Python frames
  static constexpr std::uint8_t kIncomplete = 8;  ///< a stack or a counter is missing; see `remarks`
  /// a main thread is in a call that waits for other ranks, as MPI_Recv; `locals` also covers its callers
  static constexpr std::uint8_t kInCall = 16;
  static constexpr std::uint8_t kTimedOut = 32;  ///< timed out before the stack was read: no stack and no hashes
  static constexpr std::uint32_t kNone = ~0u;
  std::uint32_t id = 0;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME at the start of the sample
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> pids;     ///< the shown process: the rank, or its first descendant with Python
  std::vector<std::uint32_t> stack;    ///< index of the main thread's frames in `stacks`
  std::vector<std::uint32_t> text;     ///< index of the full report in `texts`; kNone: too large, or not requested
  std::vector<std::uint32_t> states;   ///< state of the main thread, as in proc(5): 'R', 'S', 'D', 't', 'T', 'Z'
  std::vector<std::string> waits;      ///< wchan of the main thread; empty: running, or unknown
  std::vector<std::int64_t> cpu_ms;    ///< CPU time of the rank and all its descendants since their start
  std::vector<std::int64_t> io_bytes;  ///< rchar + wchar of the same processes; -1: unknown
  /// hash of the local variables in the main thread of each process; it changes while the program advances
  std::vector<std::int64_t> locals;
  std::vector<std::int64_t> all_locals;  ///< the same hash for all threads, from the last time that the main thread ran
  std::vector<std::uint32_t> flags;
  std::vector<std::string> stacks;   ///< equal for two ranks in the same function: one line per frame, innermost first
  std::vector<std::string> texts;    ///< all threads of all processes, as text for a file
  std::vector<std::string> remarks;  ///< the reason for missing parts, and the next step
  void fields(auto& a) {
    a(id, time_ns, ranks, pids, stack, text, states, waits, cpu_ms, io_bytes, locals, all_locals, flags, stacks, texts,
      remarks);
  }
  bool operator==(const Stacks&) const = default;

  /// Returns true if the lists match and each index is valid. The launcher checks an answer of an agent with this
  /// function.
  bool sound() const {
    const size_t n = ranks.size();
    return pids.size() == n && stack.size() == n && text.size() == n && states.size() == n && waits.size() == n &&
           cpu_ms.size() == n && io_bytes.size() == n && locals.size() == n && all_locals.size() == n &&
           flags.size() == n && std::ranges::all_of(stack, [this](auto i) { return i < stacks.size(); }) &&
           std::ranges::all_of(text, [this](auto i) { return i == kNone || i < texts.size(); });
  }
};

}  // namespace dlaunch::wire
