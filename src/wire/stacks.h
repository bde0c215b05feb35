// What the processes of a host's ranks are doing. PURE.
// docs/wire.md has each message byte by byte; wire/message.h says how one is added.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

// ---- launcher to agent ----

/// Look at the ranks of this host. The agent answers Stacks, within a second and a half; a question that comes before
/// the answer to the one before it is answered after that.
struct SampleStacks {
  static constexpr std::uint8_t kType = 29;
  std::uint32_t id = 0;              ///< comes back in the answer
  std::vector<std::uint32_t> ranks;  ///< those meant; empty: all that run here
  bool whole = false;                ///< also the stacks of all threads of all processes, as text
  void fields(auto& a) { a(id, ranks, whole); }
  bool operator==(const SampleStacks&) const = default;
};

// ---- agent to launcher ----

/// The answer to SampleStacks. The lists match `ranks` by index, but for `stacks`, `texts` and `remarks`. A rank that
/// does not run any more is left out.
struct Stacks {
  static constexpr std::uint8_t kType = 57;
  static constexpr std::uint32_t kMost = 64u << 10;
  static constexpr std::uint8_t kTraced = 1;      ///< bits of `flags`: a debugger is attached to a process of it
  static constexpr std::uint8_t kStopped = 2;     ///< one is stopped (SIGSTOP, job control)
  static constexpr std::uint8_t kPython = 4;      ///< `locals` and `all_locals` are of Python's frames
  static constexpr std::uint8_t kIncomplete = 8;  ///< a stack or a counter is missing; see `remarks`
  static constexpr std::uint8_t kInCall = 16;     ///< a main thread is within a call that waits for other ranks, as
                                                  ///< MPI_Recv; `locals` are also of what called it
  static constexpr std::uint8_t kTimedOut = 32;   ///< there was no time for its stack: it has none, and no hashes
  static constexpr std::uint32_t kNone = ~0u;
  std::uint32_t id = 0;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME when the look began
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t>
      pids;  ///< the process that is shown: the rank, or the first of its descendants with Python
  std::vector<std::uint32_t> stack;  ///< index of its main thread's frames in `stacks`
  std::vector<std::uint32_t> text;   ///< index of its whole picture in `texts`; kNone: there was no room, or none asked
  std::vector<std::uint32_t> states;   ///< of its main thread, as in proc(5): 'R', 'S', 'D', 't', 'T', 'Z'
  std::vector<std::string> waits;      ///< wchan of its main thread; empty: it runs, or it is unknown
  std::vector<std::int64_t> cpu_ms;    ///< CPU time of the rank with all its descendants since they began
  std::vector<std::int64_t> io_bytes;  ///< rchar + wchar of the same; -1: unknown
  std::vector<std::int64_t> locals;  ///< hash of the local variables of the main thread of each process; it changes as
                                     ///< a program advances
  std::vector<std::int64_t> all_locals;  ///< the same of all threads, when the main one ran last
  std::vector<std::uint32_t> flags;
  std::vector<std::string> stacks;   ///< equal for two ranks that stand at the same place: a line for each frame,
                                     ///< innermost first
  std::vector<std::string> texts;    ///< all threads of all processes, a text for a file
  std::vector<std::string> remarks;  ///< why something is missing, and the one thing to do
  void fields(auto& a) {
    a(id, time_ns, ranks, pids, stack, text, states, waits, cpu_ms, io_bytes, locals, all_locals, flags, stacks, texts,
      remarks);
  }
  bool operator==(const Stacks&) const = default;

  /// Whether the lists match, and each index is one of a text that is there. An agent's answer is checked by this
  /// first.
  bool sound() const {
    const size_t n = ranks.size();
    return pids.size() == n && stack.size() == n && text.size() == n && states.size() == n && waits.size() == n &&
           cpu_ms.size() == n && io_bytes.size() == n && locals.size() == n && all_locals.size() == n &&
           flags.size() == n && std::ranges::all_of(stack, [this](auto i) { return i < stacks.size(); }) &&
           std::ranges::all_of(text, [this](auto i) { return i == kNone || i < texts.size(); });
  }
};

}  // namespace dlaunch::wire
