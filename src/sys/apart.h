// A process of ours for system calls that may never return: a write to a frozen file system, an open on a server that
// is gone. A thread would not do: a process with one thread in uninterruptible sleep does not end, neither by _exit nor
// by SIGKILL, and its parent waits. Owned by whoever starts it, who must have SIGPIPE ignored.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "sys/fd.h"

namespace dlaunch::sys {

class Apart {
 public:
  /// What the work has: `in` is the reading end of a pipe from us, `out` a unix socket to us.
  struct Ends {
    int in = -1;
    int out = -1;
  };

  enum class Standard { nowhere, kept };

  /// Forks. The child has nothing open but its ends, and its 0 to 2 lead nowhere unless they are kept: then readers of
  /// our output wait for it, too. No signal but KILL and STOP reaches it; it ends when `work` returns. nullopt with
  /// errno set when descriptors, processes or memory run out.
  static std::optional<Apart> start(const std::function<void(Ends)>& work, Standard standard = Standard::nowhere);
  Apart(Apart&&) = default;
  Apart& operator=(Apart&&) = delete;
  /// Kills what still runs, and does not wait for it.
  ~Apart();

  int pid() const { return pid_; }
  const Fd& in() const { return in_; }    ///< we write; blocking until changed
  const Fd& out() const { return out_; }  ///< we read; at its end when the work is over
  void close_in() { in_.reset(); }

  /// SIGKILL, which one in uninterruptible sleep takes when it wakes up.
  void kill();
  /// Whether it ended within that time; it is reaped then.
  bool wait(std::chrono::milliseconds longest);

 private:
  Apart(int pid, Fd handle, Fd in, Fd out);

  int pid_;
  Fd handle_;  // a pidfd: the pid may be another's once somebody else of this process has reaped it
  Fd in_;
  Fd out_;
};

}  // namespace dlaunch::sys
