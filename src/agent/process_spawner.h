// Starts processes with a plain fork: the agent is small, so a fork is cheap, and the agent continues while the child
// execs on another CPU (vfork would wait for each exec in turn). The child writes a failed step to shared memory;
// failure() reads the step after the child is reaped. Each class that starts processes has its own.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "sys/shared_object.h"

namespace dlaunch::agent {

enum class SpawnStep : int { fork, session, mpi, terminal, limits, affinity, directory, exec };

struct SpawnFailure {
  SpawnStep step = SpawnStep::fork;
  int error = 0;
};

/// The parameters of a child. The pointers are used only during the call.
struct Launch {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  const char* wdir = nullptr;
  int directory = -1;              ///< the working directory instead of `wdir`, for a path that another user may change
  std::span<const int> kept = {};  ///< descriptors that stay open
  int in = -1;                     ///< become the child's 0, 1 and 2; must be above 2
  int out = -1;
  int err = -1;
  int cgroup = -1;        ///< the child starts in this group if the kernel can (Linux 5.7); -1: in the agent's group
  int mpi = -1;           ///< becomes plan::kPmiFd; -1: none
  bool terminal = false;  ///< `out` becomes the controlling terminal
  std::span<const unsigned long> affinity;  ///< a CPU mask as sched_setaffinity(2) takes it; empty: inherited
  rlimit open_files{};
  bool wait = false;  ///< return only after the child's exec or end, so that its affinity can be read back
};

class ProcessSpawner {
 public:
  ProcessSpawner() = default;
  ProcessSpawner(const ProcessSpawner&) = delete;
  ProcessSpawner& operator=(const ProcessSpawner&) = delete;

  struct Child {
    pid_t pid = -1;  ///< -1: fork failed, with the errno in `error`
    int error = 0;
    const SpawnFailure* slot = nullptr;  ///< for failure()
  };
  /// The child leads its own session and group, has default signal dispositions and an empty mask, and receives KILL
  /// when the calling thread ends. Every descriptor above 2 must be O_CLOEXEC.
  Child spawn(const Launch& launch);

  /// The step that failed in a reaped child before its exec.
  static std::optional<SpawnFailure> failure(const SpawnFailure* slot);

 private:
  SpawnFailure* next_slot();

  static constexpr size_t kPageSize = 4096;
  struct Page {
    std::array<SpawnFailure, kPageSize / sizeof(SpawnFailure)> slots;
  };
  std::vector<sys::SharedObject<Page>> pages_;  // shared with the children
  size_t used_ = 0;                             // slots of the last page
};

}  // namespace dlaunch::agent
