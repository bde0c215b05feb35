// Inherited properties of a process: the limit of open files (raised for dlaunch, restored for ranks), descriptors, the
// ignored signals, and the usable CPUs.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::sys {

/// Raises the soft limit to the hard limit. Returns the old soft limit.
rlimit raise_open_files();

/// The current limit of open descriptors.
rlim_t open_files_limit();

/// The hard limit of open descriptors, the most that raise_open_files() can set.
rlim_t most_open_files();

/// The descriptor of dlaunch that the path names: /dev/stdout, or /dev/fd/63 as a shell writes ">(command)". Pure.
std::optional<int> named_descriptor(std::string_view path);

/// A copy of the named descriptor, at its position in the file. Empty with errno set (EBADF) if dlaunch did not inherit
/// the descriptor, or if the descriptor is only for reading.
Fd open_inherited(std::string_view path);

/// Whether two descriptors have one position in one file. Returns true if the system does not permit the question.
bool is_same_open_file(int a, int b);
/// Whether each write to the descriptor is at the end of the file (O_APPEND).
bool appends(int descriptor);

/// Whether a job does not handle the signal. A signal that the parent ignored stays ignored, as under nohup and for
/// `dlaunch … &` in a script. ALRM and XCPU keep a handler of the program that runs the job.
bool is_kept(int signal);

/// Removes the settings of a parent that would prevent the end of a job: an ignored SIGTERM, an ignored SIGCHLD (the
/// exit status of a child would be lost), and blocked signals. Call before any handler is installed.
void restore_ending_signals();

/// Ends this process by the signal, for a parent that reads the status. No core file. Returns if the signal does not
/// end this process: the first process of a pid namespace ignores signals.
void die_of(int signal);

/// Saves the action of a signal, and restores it in the destructor. 0: no signal.
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

/// The usable CPUs of a process, ascending; nullopt with errno set if the kernel does not report them. 0: this thread.
std::optional<std::vector<std::uint32_t>> affinity_of(pid_t pid);

}  // namespace dlaunch::sys
