// A sample of a process: its threads with their Python and native frames. PURE.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch::stacks {

struct Frame {
  std::string function;
  std::string file;
  int line = 0;  ///< 0: unknown, as for all native frames
};

/// Frames are innermost first.
struct ThreadStack {
  pid_t tid = 0;
  std::string name;
  char state = '?';           ///< as in proc(5)
  std::string wait;           ///< wchan; empty: running, or unknown
  std::vector<Frame> native;  ///< for a thread with Python: the functions that Python has called
  std::vector<Frame> python;
  bool in_call = false;    ///< in a call that waits for other ranks, as MPI_Recv
  bool timed_out = false;  ///< the deadline came first: no frames
  /// hash of Python's frames, and of the callers of a waiting call; it changes while the program advances
  std::uint64_t locals_hash = 0;
};

struct Sample {
  pid_t pid = 0;
  std::string command;               ///< first bytes of its arguments, for a person
  std::vector<ThreadStack> threads;  ///< main thread first; empty: the process has ended
  std::int64_t cpu_ms = 0;           ///< CPU time of all its threads, and of reaped children
  std::int64_t io_bytes = -1;        ///< rchar + wchar; -1: unknown
  bool traced = false;               ///< stopped by a debugger
  bool stopped = false;
  bool python = false;               ///< an interpreter runs in the process
  std::vector<std::string> remarks;  ///< the reason for missing parts, and the next step

  bool alive() const { return !threads.empty(); }
};

inline constexpr std::size_t kMostThreads = 1024;
inline constexpr std::size_t kMostFrames = 256;  ///< of a thread

/// A process with its descendants.
struct Tree {
  /// processes with Python, running processes, and processes that used CPU; the root is first
  std::vector<Sample> processes;
  /// index of the process that shows the activity: the first with Python, or the only child for which a shell waits
  std::size_t shown = 0;
  std::int64_t cpu_ms = 0;     ///< of all descendants
  std::int64_t io_bytes = -1;  ///< of all readable processes; -1: none
  bool timed_out = false;      ///< the deadline came before an important process: the shown one may be another
};

/// The memory of a sample, in bytes.
std::size_t bytes_of(const std::vector<Frame>& frames);
std::size_t bytes_of(const Sample& sample);

// Text of samples for a person. PURE. Names from a process are escaped.

/// The position of a thread: one line per frame, innermost first, without addresses and arguments. Equal for two
/// threads in the same functions. Empty without frames.
std::string place_of(const ThreadStack& thread);

/// "running", "blocked in futex_do_wait", "waiting for a disk or a device", …
std::string state_of(const ThreadStack& thread);

/// One line for the process, then its threads with whole paths, grouped by equal stacks. Without `all_threads`, only
/// the main thread. Ends with a remark about further threads after `most` bytes.
std::string picture_of(const Sample& sample, bool all_threads, std::size_t most);

}  // namespace dlaunch::stacks
