// The agent's child processes: ranks, dlaunch-pmix, the prepare process, getent, commands. Children reports the end of
// a child to the component that started the child. Owned by the Agent, whose loop reaps children and outlives the
// components.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <tl/expected.hpp>

#include "agent/process_spawner.h"

namespace dlaunch::agent {

/// A child that runs a helper program: with this environment, whose tags let a sweep find processes of the job, in "/",
/// and with the agent's limit of open files. The caller sets the descriptors. `path` and `argv` must outlive the
/// Launch.
Launch launch_helper(const char* path, char* const* argv);

class Children {
 public:
  struct End {
    pid_t pid = 0;
    int wait_status = 0;
    std::optional<SpawnFailure> not_started;  ///< the step before the exec that failed
  };
  /// The component may have ended before the child: use a Lifetime.
  using OnEnd = std::function<void(const End& end)>;

  /// Returns the child's pid, or the errno of fork(2).
  tl::expected<pid_t, int> spawn(const Launch& launch, OnEnd on_end);

  /// For many children at once: forks, each right after another, because each page written between two forks is copied.
  /// The caller passes each child to expect() before the loop continues.
  ProcessSpawner::Child fork(const Launch& launch) { return spawner_.spawn(launch); }
  void expect(const ProcessSpawner::Child& child, OnEnd on_end);

  /// The agent has reaped `pid`. Does nothing for orphans that the agent adopted.
  void reaped(pid_t pid, int wait_status);

 private:
  struct Running {
    SpawnFailure* slot;
    OnEnd on_end;
  };

  ProcessSpawner spawner_;
  std::map<pid_t, Running> running_;
};

}  // namespace dlaunch::agent
