// The claim of a job on a file that it writes later, such as its record: a lock until the end of the job. A new file
// replaces the file, so a lock on the file alone would end with the rename. Therefore the claim also creates the new
// file, under a hidden name, and locks it: the rename takes the lock along. A separate process holds the locks, because
// a disk may hang. Each further write needs another new file: prepare_again().
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "dlaunch/error.h"
#include "sys/helper_process.h"

namespace dlaunch::report {

class FileClaim {
 public:
  /// Returns an Error if another job has claimed or locked the file, or if the file cannot be written (kExitRefused),
  /// or if its disk does not respond (kExitOutput); nothing has changed then. `mode`: of the new file, minus the umask.
  /// Pipes, devices and inherited descriptors have no lock.
  static Result<std::unique_ptr<FileClaim>> take(const std::string& path, unsigned mode,
                                                 const sys::Wait& wait = sys::poll_until);
  /// Call before each write after the first: the process creates and locks the next new file. Does not wait.
  void prepare_again();
  /// Ends the claim, without a wait: the process removes the new file if it was not used.
  void close();
  /// As close(). Waits until the file is removed, for at most 1 s after close(). On a disk that hangs, the process goes
  /// on alone.
  ~FileClaim();
  FileClaim(const FileClaim&) = delete;
  FileClaim& operator=(const FileClaim&) = delete;

  /// As is_replaced() of write_file.h.
  bool replaced() const { return replaced_; }

 private:
  FileClaim(sys::HelperProcess holder, bool replaced) : holder_(std::move(holder)), replaced_(replaced) {}

  sys::HelperProcess holder_;
  const bool replaced_;
  std::optional<Time> closed_at_;
};

// Errors of helper processes that write a file, and their way to the launcher.

inline constexpr std::chrono::seconds kWriterWait{10};

/// The process keeps the descriptors of dlaunch that the path names.
sys::HelperProcess::Inherited wanted_by(const std::string& path);
/// Sends the reason of a failure and the hint.
void send_error(const Error& error, int to);
/// The Error that send_error() sent.
Error received_error(const std::string& path, const std::string& answer, int exit_code);
/// The disk has not responded for `longest`.
Error no_answer(const std::string& path, Duration longest = kWriterWait);
Error cannot_start(const std::string& path, int error);

}  // namespace dlaunch::report
