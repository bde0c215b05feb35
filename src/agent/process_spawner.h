// Starts processes by plain fork: the agent is small, so a fork is cheap, and it goes on while the child execs on
// another CPU (vfork would wait for each exec in turn). A step that fails in the child is written to shared memory and
// read when the child is reaped. Owned by the agent.
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

/// What the child becomes. The pointers are used during the call only.
struct Launch {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  const char* wdir = nullptr;
  int in = -1;  ///< become the child's 0, 1 and 2; must be above 2
  int out = -1;
  int err = -1;
  int cgroup = -1;                          ///< the child starts in it where the kernel can (Linux 5.7); -1: in ours
  int mpi = -1;                             ///< becomes plan::kPmiFd; -1: it has none
  bool terminal = false;                    ///< `out` becomes the controlling terminal
  std::span<const unsigned long> affinity;  ///< a CPU mask as sched_setaffinity(2) takes it; empty: inherited
  rlimit open_files{};
  bool wait = false;  ///< return only when the child has exec'ed or ended, so that its affinity can be read back
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

  /// The step that kept a child, which was reaped, from becoming its program.
  static std::optional<SpawnFailure> failure(const SpawnFailure* slot);

 private:
  SpawnFailure* next_slot();

  std::vector<SpawnFailure*> pages_;  // shared with the children
  size_t used_ = 0;                   // slots of the last page
};

}  // namespace dlaunch::agent
