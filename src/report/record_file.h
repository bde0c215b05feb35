// The file of --report. A process of its own writes it, because a disk may hang. Owned by whoever runs the job.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "dlaunch/error.h"
#include "sys/helper_process.h"

namespace dlaunch::report {

/// Where the record of that attempt lies once a later one has begun.
std::string kept_record(const std::string& path, int attempt);

class RecordFile {
 public:
  /// An empty path means that no record is asked for.
  explicit RecordFile(std::string path);

  /// The record of the attempt before, if it is there, is FILE.attempt.K from now on.
  void keep_earlier(int attempt) const;

  bool wanted() const { return !path_.empty(); }
  /// Whether the record is also written while the job runs. That write does not wait, and only write() reports whether
  /// the file can be written. A pipe or a device gets one record, at the end.
  bool wanted_early() const { return wanted() && replaced_; }
  void write_early(const std::string& text);
  /// Returns when the record is on the device.
  Result<void> write(const std::string& text);

 private:
  std::string path_;
  bool replaced_;  // a new file takes the old one's place
  std::optional<sys::HelperProcess> early_;
};

}  // namespace dlaunch::report
