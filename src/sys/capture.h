// A command with captured output and a deadline. Commands start at once, and several can run in parallel.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::sys {

struct Captured {
  int error = 0;           ///< errno of the start; then the other fields are empty
  bool timed_out = false;  ///< the process was killed
  int wait_status = 0;     ///< as returned by waitpid
  std::string output;      ///< stdout and stderr, at most 64 KiB
};

/// Owns the process, which leads its own group and dies with this process. The destructor kills and reaps the group; it
/// gives up half a second after KILL. stdin is /dev/null. The caller must not reap the process.
class Capture {
 public:
  /// argv[0] is searched in PATH.
  explicit Capture(const std::vector<std::string>& argv);
  Capture(Capture&& other) noexcept;
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  Capture& operator=(Capture&&) = delete;
  ~Capture();

  /// Waits for the end. Call once.
  Captured finish(std::chrono::steady_clock::time_point deadline);

 private:
  /// Returns true if the process was reaped in time.
  bool reap_by(std::chrono::steady_clock::time_point deadline, int& wait_status);

  pid_t pid_ = -1;
  Fd output_;
  Fd failure_;  // delivers the errno of a failed exec; end of file if exec succeeds
  int error_ = 0;
};

}  // namespace dlaunch::sys
