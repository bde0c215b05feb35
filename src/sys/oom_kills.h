// Counts the processes that the kernel has killed for lack of memory.
#pragma once

#include <optional>
#include <string>

namespace dlaunch::sys {

/// The oom_kill events of this process's memory cgroup, from memory.events (cgroup v2) or memory.oom_control (v1);
/// nullopt if neither file can be read.
std::optional<long> oom_kills();

/// Created before the start of a child in the same cgroup. Does not report which process the kernel has killed.
class OomWatch {
 public:
  /// ", out of memory (…)" if the cgroup has counted an oom_kill since the construction; else empty.
  std::string text() const;

 private:
  std::optional<long> before_ = oom_kills();
};

}  // namespace dlaunch::sys
