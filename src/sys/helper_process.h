// A process of ours for system calls that may never return, such as a write to a frozen file system. A thread would not
// do: a process with one thread in uninterruptible sleep does not end, neither by _exit nor by SIGKILL, and its parent
// waits. Owned by whoever starts it, who must ignore SIGPIPE.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "sys/fd.h"

namespace dlaunch::sys {

class HelperProcess {
 public:
  /// The descriptors that the work has: `in` is the reading end of a pipe from us, `out` a unix socket to us.
  struct Ends {
    int in = -1;
    int out = -1;
  };

  enum class Standard { nowhere, kept };

  /// Forks. The child has nothing open but its ends. Its 0 to 2 lead nowhere unless they are kept, in which case
  /// readers of our output wait for the child, too. No signal but KILL and STOP reaches it; it ends when `work`
  /// returns. Returns nullopt with errno set when descriptors, processes or memory run out.
  static std::optional<HelperProcess> start(const std::function<void(Ends)>& work,
                                            Standard standard = Standard::nowhere);
  HelperProcess(HelperProcess&&) = default;
  HelperProcess& operator=(HelperProcess&&) = delete;
  /// Kills a child that still runs, and does not wait for it.
  ~HelperProcess();

  int pid() const { return pid_; }
  const Fd& in() const { return in_; }    ///< we write; blocking until changed
  const Fd& out() const { return out_; }  ///< we read; at end of file when the work is over
  void close_in() { in_.reset(); }

  /// Sends SIGKILL, which takes effect only after an uninterruptible sleep.
  void kill();
  /// Whether the child ended within that time; if so it was reaped.
  bool wait(std::chrono::milliseconds longest);

 private:
  HelperProcess(int pid, Fd handle, Fd in, Fd out);

  int pid_;
  Fd handle_;  // a pidfd: the pid may be another's once this process has reaped the child elsewhere
  Fd in_;
  Fd out_;
};

}  // namespace dlaunch::sys
