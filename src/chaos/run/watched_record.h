// The record of the job that dlaunch chaos runs: read each time that the launcher writes it, which is when all ranks of
// a round run, and at the job's end. Owned by ChaosJob.
#pragma once

#include <optional>
#include <string>

#include "dlaunch/record.h"
#include "sys/fd.h"

namespace dlaunch::chaos {

class WatchedRecord {
 public:
  /// The file need not be there, its directory must; throws std::system_error where it cannot be watched.
  explicit WatchedRecord(std::string path);

  int fd() const { return watch_.get(); }
  /// To be called when fd() can be read. Whether the record was written, and is one.
  bool read();
  /// The one that was read last.
  const std::optional<report::Record>& last() const { return last_; }

 private:
  const std::string path_;
  sys::Fd watch_;
  std::optional<report::Record> last_;
};

}  // namespace dlaunch::chaos
