// The record of a job under dlaunch chaos. The launcher writes it when all ranks of a round have started and at the end
// of the job; it is read after each write. Owned by ChaosJob.
#pragma once

#include <optional>
#include <string>

#include "dlaunch/record.h"
#include "sys/fd.h"

namespace dlaunch::chaos {

class WatchedRecord {
 public:
  /// The directory must exist, not the file. Throws std::system_error if it cannot be watched.
  explicit WatchedRecord(std::string path);

  int fd() const { return watch_.get(); }
  /// Call when fd() is readable. Returns true after a write of a valid record.
  bool read();
  /// The last valid record.
  const std::optional<report::Record>& last() const { return last_; }

 private:
  const std::string path_;
  sys::Fd watch_;
  std::optional<report::Record> last_;
};

}  // namespace dlaunch::chaos
