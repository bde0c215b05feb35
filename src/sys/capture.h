// A command whose output is wanted. It starts at once, so that several run side by side, and has a deadline.
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
  int wait_status = 0;     ///< as waitpid gives it
  std::string output;      ///< stdout and stderr, 64 KiB at most
};

/// Owns the process, which leads its own group and dies with this process. The destructor kills and reaps what is left
/// of it, and leaves what does not go within half a second after KILL. stdin is /dev/null. The caller must not reap the
/// process.
class Capture {
 public:
  /// argv[0] is looked for in PATH.
  explicit Capture(const std::vector<std::string>& argv);
  Capture(Capture&& other) noexcept;
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  Capture& operator=(Capture&&) = delete;
  ~Capture();

  /// Waits for the end. To be called once.
  Captured finish(std::chrono::steady_clock::time_point deadline);

 private:
  /// Whether it was reaped in time.
  bool reap_by(std::chrono::steady_clock::time_point deadline, int& wait_status);

  pid_t pid_ = -1;
  Fd output_;
  Fd failure_;  // carries errno of an exec that failed; at end of file when exec succeeds
  int error_ = 0;
};

}  // namespace dlaunch::sys
