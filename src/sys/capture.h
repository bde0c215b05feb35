// A command whose output is wanted: started at once, so that several run side by side, and awaited until a deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::sys {

struct Captured {
  int error = 0;           ///< errno of the start; then nothing else is set
  bool timed_out = false;  ///< it was killed
  int wait_status = 0;     ///< waitpid's
  std::string output;      ///< stdout and stderr, 64 KiB at most
};

/// Owns the process: it leads its own group, dies with this process, and what is left of it is killed and reaped when
/// this goes; what does not go after KILL within half a second is left. stdin is /dev/null. The caller must not take
/// the process's status by itself.
class Capture {
 public:
  /// argv[0] is looked for in PATH.
  explicit Capture(const std::vector<std::string>& argv);
  Capture(Capture&& other) noexcept;
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  Capture& operator=(Capture&&) = delete;
  ~Capture();

  /// Once.
  Captured finish(std::chrono::steady_clock::time_point deadline);

 private:
  /// Whether it was reaped in time.
  bool reap_by(std::chrono::steady_clock::time_point deadline, int& wait_status);

  pid_t pid_ = -1;
  Fd output_;
  Fd failure_;  // errno of an exec that failed; ends when it succeeds
  int error_ = 0;
};

}  // namespace dlaunch::sys
