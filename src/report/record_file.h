// The file of --report. It is written by a process of its own, since a disk may hang. Owned by who runs the job.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "dlaunch/error.h"
#include "sys/apart.h"

namespace dlaunch::report {

class RecordFile {
 public:
  /// Empty: no record is asked for.
  explicit RecordFile(std::string path);

  bool wanted() const { return !path_.empty(); }
  /// While the job runs: does not wait, and whether it can be written is told by write() alone. What goes to a pipe or
  /// a device is one record, that of the end.
  bool wanted_early() const { return wanted() && replaced_; }
  void write_early(const std::string& text);
  /// Until it is on the device.
  Result<void> write(const std::string& text);

 private:
  std::string path_;
  bool replaced_;  // not written through to what is there
  std::optional<sys::Apart> early_;
};

}  // namespace dlaunch::report
