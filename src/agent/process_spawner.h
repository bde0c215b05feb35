// Starts processes, and makes the kernel kill ranks before agents if memory runs out.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sys/held_directory.h"
#include "sys/shared_object.h"

namespace dlaunch::agent {

enum class SpawnStep : int { fork, session, mpi, terminal, limits, affinity, directory, environment, exec };

struct SpawnFailure {
  SpawnStep step = SpawnStep::fork;
  int error = 0;
};

inline constexpr size_t kPidDigits = 10;

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
  char* own_pid = nullptr;  ///< in `envp`: the child writes its process id here, up to kPidDigits and a NUL
  const sys::HeldDirectory* saved_in = nullptr;  ///< the child writes kEnvironmentFile here
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
    SpawnFailure* slot = nullptr;  ///< for take_failure()
  };
  /// The child leads its own session and group, has default signal dispositions and an empty mask, and receives KILL
  /// when the calling thread ends. Every descriptor above 2 must be O_CLOEXEC.
  Child spawn(const Launch& launch);

  /// The step that failed before the exec of a reaped child. A later child may use the slot.
  std::optional<SpawnFailure> take_failure(SpawnFailure* slot);

 private:
  SpawnFailure* next_slot();

  static constexpr size_t kPageSize = 4096;
  struct Page {
    std::array<SpawnFailure, kPageSize / sizeof(SpawnFailure)> slots;
  };
  std::vector<sys::SharedObject<Page>> pages_;  // shared with the children
  size_t used_ = 0;                             // slots of the last page
  std::vector<SpawnFailure*> free_;             // of reaped children
};

// Out of memory: makes the kernel kill ranks before agents (RankOomScore, owned by Ranks).

/// The amount by which the OOM score of a rank exceeds the agent's score, in thousandths of the memory. Even a tiny
/// rank is killed before an agent or launcher that uses 30 %. Among the ranks, still the largest rank is killed first.
inline constexpr long kRankOomScore = 300;

/// The oom_score_adj of forked ranks: this process's own value, raised by kRankOomScore. Ranks inherit the value from
/// the fork, because a write in the child takes 60 us, a tenth of the time to exec. Raising and restoring need no
/// permission. If /proc does not allow the write, the score stays. Owned by Ranks.
class RankOomScore {
 public:
  RankOomScore();

  /// Processes forked during the life of this object are ranks.
  class Raised {
   public:
    explicit Raised(const RankOomScore& score) : score_(score) { score_.write(score_.raised_); }
    ~Raised() { score_.write(score_.own_); }
    Raised(const Raised&) = delete;
    Raised& operator=(const Raised&) = delete;

   private:
    const RankOomScore& score_;
  };

 private:
  void write(const std::string& value) const;

  sys::Fd file_;  // empty: the score is not raised
  std::string own_;
  std::string raised_;
};

}  // namespace dlaunch::agent
