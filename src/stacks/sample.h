// What a process is doing: its threads with their Python and native frames. PURE.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch::stacks {

struct Frame {
  std::string function;
  std::string file;
  int line = 0;  ///< 0: unknown, as of all native frames
};

/// Frames are innermost first.
struct ThreadStack {
  pid_t tid = 0;
  std::string name;
  char state = '?';           ///< as in proc(5)
  std::string wait;           ///< wchan; empty: it runs, or it is unknown
  std::vector<Frame> native;  ///< of a thread that runs Python, those that Python has called
  std::vector<Frame> python;
  bool in_call = false;           ///< within a call that waits for other ranks, as MPI_Recv
  bool timed_out = false;         ///< there was no time for its frames, so it has none
  std::uint64_t locals_hash = 0;  ///< of Python's frames, and of those that called what waits; it changes as they go on
};

struct Sample {
  pid_t pid = 0;
  std::string command;               ///< its arguments' first bytes, for a person
  std::vector<ThreadStack> threads;  ///< the main thread first; none: it has ended
  std::int64_t cpu_ms = 0;           ///< of all its threads, and of children that it waited for
  std::int64_t io_bytes = -1;        ///< rchar + wchar; -1: unknown
  bool traced = false;               ///< by a debugger
  bool stopped = false;
  bool python = false;               ///< an interpreter runs in it
  std::vector<std::string> remarks;  ///< why something is missing, and the one thing to do

  bool alive() const { return !threads.empty(); }
};

inline constexpr std::size_t kMostThreads = 1024;
inline constexpr std::size_t kMostFrames = 256;  ///< of a thread

/// A process with its descendants.
struct Tree {
  std::vector<Sample> processes;  ///< those that run Python, run now or used CPU; the process itself is the first
  std::size_t shown = 0;          ///< the one of them that tells what the program does: the first with Python, or the
                                  ///< only child for which a shell waits
  std::int64_t cpu_ms = 0;        ///< of all descendants
  std::int64_t io_bytes = -1;     ///< of all that could be read; -1: none could
  bool timed_out = false;         ///< there was no time for all that matters: what is shown may be another one's
};

}  // namespace dlaunch::stacks
