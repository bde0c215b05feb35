// A command line of /bin/sh on a socket, in a session of its own so that Ctrl-C is for the launcher alone. Passive: its
// owner ends it and waits for it.
#pragma once

#include <string>

#include "sys/fd.h"

namespace dlaunch::transport {

class Command {
 public:
  /// stdin and stdout are `stream`, stderr is `errors`. 0, or an errno.
  int start(const std::string& line, const sys::Fd& stream, const sys::Fd& errors);
  /// And was reaped: by us or, if SIGCHLD came first, by the launcher.
  bool has_ended() const;
  /// To all of its session's first group.
  void signal(int signal) const;
  /// Readable once it has ended; none on a kernel before 5.3.
  const sys::Fd& handle() const { return handle_; }
  /// Waits for what cannot refuse to end.
  void reap() const;

 private:
  int pid_ = 0;
  sys::Fd handle_;  // pidfd
};

}  // namespace dlaunch::transport
