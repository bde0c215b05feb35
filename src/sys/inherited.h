// What a process inherits: its limit of open files (raised for us, restored for the ranks), the signals that it
// ignores, and the CPUs that it may run on.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <vector>

namespace dlaunch::sys {

/// Raises the soft limit to the hard one. Returns what it was before.
rlimit raise_open_files();

/// How many descriptors may be open now.
rlim_t open_files_limit();

/// A signal that our parent ignored stays ignored, as under nohup and for `dlaunch … &` in a script.
bool is_ignored(int signal);

/// Puts back, when it is destroyed, what a signal did when it was made. 0: no signal.
class KeptDisposition {
 public:
  explicit KeptDisposition(int signal);
  KeptDisposition(const KeptDisposition&) = delete;
  KeptDisposition& operator=(const KeptDisposition&) = delete;
  ~KeptDisposition();

 private:
  int signal_;
  struct sigaction before_{};
};

/// The CPUs that a process may use, ascending; nullopt with errno set when the kernel does not say. 0: this thread.
std::optional<std::vector<std::uint32_t>> affinity_of(pid_t pid);

}  // namespace dlaunch::sys
