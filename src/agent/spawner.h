// Starts one process the fast way: a child that shares our memory until it execs (as vfork), so that the cost does not
// grow with the agent and a failed step is known at once, with its errno. Owned by the agent; keeps the child's stack.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace dlaunch::agent {

enum class SpawnStep { clone, session, terminal, limits, affinity, directory, exec };

struct SpawnFailure {
  SpawnStep step;
  int error;
};

/// What the child becomes. Borrowed for the time of the call.
struct Launch {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  const char* wdir = nullptr;
  int in = -1;  ///< become 0, 1, 2; above 2 themselves
  int out = -1;
  int err = -1;
  bool terminal = false;                    ///< `out` becomes the controlling terminal
  std::span<const unsigned long> affinity;  ///< a CPU mask as sched_setaffinity(2) takes it; empty: inherited
  rlimit open_files{};
};

class Spawner {
 public:
  Spawner();
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  /// The child leads its own session and group, has default signal dispositions and an empty mask, and dies by KILL
  /// when the calling thread does. Every descriptor above 2 must be O_CLOEXEC.
  tl::expected<pid_t, SpawnFailure> spawn(const Launch& launch);

 private:
  char* stack_;
};

}  // namespace dlaunch::agent
