// A child process for system calls that may never return, such as a write to a frozen file system. Not a thread: a
// process with a thread in uninterruptible sleep cannot exit, so its parent would wait forever. The caller of start()
// owns the child and must ignore SIGPIPE.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sys/fd.h"
#include "sys/io.h"

namespace dlaunch::sys {

class HelperProcess {
 public:
  /// The descriptors of the work: `in` is the reading end of a pipe from the parent, `out` a unix socket to the parent.
  struct Ends {
    int in = -1;
    int out = -1;
    /// Whether the parent has ended, or has closed its end: the work then changes nothing more. A call before may have
    /// lasted until the thaw of a disk.
    bool gave_up() const;
  };

  /// The descriptors that dlaunch inherited: 0 to 2, and those without O_CLOEXEC.
  enum class Inherited { closed, kept };

  /// Forks. The child keeps open only the two descriptors of `Ends`, those of `kept`, and inherited descriptors if they
  /// are kept: then readers of our output also wait for the child. Without them an unconnected socket replaces
  /// descriptors 0 to 2, because output to /dev/stdout must not vanish. Only KILL and STOP reach the child. The child
  /// exits when `work` returns. Returns nullopt with errno set if descriptors, processes or memory run out.
  static std::optional<HelperProcess> start(const std::function<void(Ends)>& work,
                                            Inherited inherited = Inherited::closed, std::vector<int> kept = {});
  HelperProcess(HelperProcess&& other) noexcept
      : pid_(other.pid_),
        owned_(std::exchange(other.owned_, false)),
        handle_(std::move(other.handle_)),
        in_(std::move(other.in_)),
        out_(std::move(other.out_)) {}
  HelperProcess& operator=(HelperProcess&&) = delete;
  /// Kills a running child, without waiting for it.
  ~HelperProcess();
  /// The child goes on after this object, also if a signal has stopped it.
  void leave();

  int pid() const { return pid_; }
  const Fd& in() const { return in_; }    ///< the parent writes; blocking unless changed
  const Fd& out() const { return out_; }  ///< the parent reads; end of file when the work is done
  void close_in() { in_.reset(); }

  /// All bytes that the work sends until it ends, or the first `most`. nullopt with errno set: ETIMEDOUT after
  /// `longest`, or earlier by `wait`; `got` then has the bytes that arrived before.
  std::optional<std::string> read_all(std::chrono::milliseconds longest, std::string* got = nullptr,
                                      std::size_t most = std::string::npos, const Wait& wait = poll_until) const;

  /// Appends the bytes that have arrived. Returns true after the last byte. Does not wait.
  bool receive(std::string& got) const;

  /// Sends SIGKILL. It takes effect after an uninterruptible sleep.
  void kill();
  /// Returns true if the child ended in time; then it was reaped.
  bool wait(std::chrono::milliseconds longest);

 private:
  HelperProcess(int pid, Fd handle, Fd in, Fd out);
  void signal(int number) const;

  int pid_;
  bool owned_ = true;
  Fd handle_;  // a pidfd, because this process may reap the child elsewhere; empty before Linux 5.3
  Fd in_;
  Fd out_;
};

}  // namespace dlaunch::sys
