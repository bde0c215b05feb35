// Starts processes by plain fork: the agent is small, so a fork is cheap, and it goes on while the child execs on
// another CPU (vfork would wait for each exec in turn). A step that fails in the child is told through shared memory
// and read when the child is reaped. Owned by the agent.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <vector>

namespace dlaunch::agent {

enum class SpawnStep : int { fork, session, mpi, terminal, limits, affinity, directory, exec };

struct SpawnFailure {
  SpawnStep step = SpawnStep::fork;
  int error = 0;
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
  int cgroup = -1;                          ///< begins in it where the kernel can (Linux 5.7); -1: in ours
  int mpi = -1;                             ///< becomes plan::kPmiFd; -1: it has none
  bool terminal = false;                    ///< `out` becomes the controlling terminal
  std::span<const unsigned long> affinity;  ///< a CPU mask as sched_setaffinity(2) takes it; empty: inherited
  rlimit open_files{};
  bool wait = false;  ///< return when it has exec'ed or ended, so that what it is bound to can be read back
};

class ProcessSpawner {
 public:
  ProcessSpawner() = default;
  ~ProcessSpawner();
  ProcessSpawner(const ProcessSpawner&) = delete;
  ProcessSpawner& operator=(const ProcessSpawner&) = delete;

  struct Child {
    pid_t pid = -1;  ///< -1: fork failed, `error` says why
    int error = 0;
    const SpawnFailure* slot = nullptr;  ///< for failure()
  };
  /// The child leads its own session and group, has default signal dispositions and an empty mask, and dies by KILL
  /// when the calling thread does. Every descriptor above 2 must be O_CLOEXEC.
  Child spawn(const Launch& launch);

  /// Of a child that was reaped: the step that kept it from becoming its program.
  static std::optional<SpawnFailure> failure(const SpawnFailure* slot);

 private:
  SpawnFailure* next_slot();

  std::vector<SpawnFailure*> pages_;  // shared with the children
  size_t used_ = 0;                   // slots of the last page
};

}  // namespace dlaunch::agent
