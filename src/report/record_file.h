// Files that separate processes write, because a disk may hang: the record of --report, and the stacks of all threads.
// Owned by the code that runs the job.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dlaunch/error.h"
#include "report/file_claim.h"
#include "report/write_file.h"
#include "sys/helper_process.h"

namespace dlaunch::report {

/// The path of an attempt's record after a later attempt has started.
std::string kept_record(const std::string& path, int attempt);

/// PidFile: the file of --report-pid.
class PidFile {
 public:
  /// Without a path, the functions do nothing.
  explicit PidFile(std::string path) : path_(std::move(path)) {}

  /// Returns the Errors of FileClaim::take().
  Result<void> claim(const sys::Wait& wait);
  /// Writes the pid of this process. Returns an Error if the file cannot be written within 10 s.
  Result<void> write(const sys::Wait& wait);

 private:
  std::string path_;
  std::unique_ptr<FileClaim> claim_;
};

class RecordFile {
 public:
  static constexpr unsigned kPrivate = 0600;  ///< a record has command lines and paths

  /// Without a path no record is written. `mode`: of a new file, minus the umask.
  explicit RecordFile(std::string path, unsigned mode = kPrivate);
  /// Gives up a write that has not ended.
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Returns the Errors of FileClaim::take().
  Result<void> claim(const sys::Wait& wait);
  /// Call before the first write: the write renames an existing record of the previous attempt to FILE.attempt.K.
  void keep_earlier(int attempt) { attempt_ = attempt; }

  bool wanted() const { return !path_.empty(); }
  /// Whether write_early() is useful while the job runs. write_early() does not wait and does not report failures. A
  /// pipe or a device gets one record, at the end.
  bool wanted_early() const { return claim_ && claim_->replaced(); }
  void write_early(const std::string& text);
  /// Starts to write the record, after the end of an early write. step() and written() follow. Waits for a reader of a
  /// FIFO until shortly before `until`.
  void write(std::string text, Time until);
  /// The descriptor of which the write waits: call again when it is readable. -1: the record is synced to the device,
  /// or cannot be written.
  int step();
  /// The result; an Error if the write has not ended. `waited`: for its end. Ends the claim.
  Result<void> written(Duration waited);

 private:
  void replace(const std::string& text, WriteAs as, sys::HelperProcess::Ends ends) const;
  void start_writer();

  std::string path_;
  unsigned mode_;
  int attempt_ = 0;
  std::unique_ptr<FileClaim> claim_;
  std::optional<sys::HelperProcess> early_;
  bool wrote_early_ = false;
  std::string text_;
  Time until_;
  std::optional<sys::HelperProcess> writer_;
  std::string answer_;  // empty after a success
  std::optional<Result<void>> result_;
};

/// StacksFiles: the files with the stacks of all threads. Separate processes write them, because a disk may hang. Owned
/// by the code that runs the job.
class StacksFiles {
 public:
  /// `base`: the path without its number; empty: no file is written.
  explicit StacksFiles(std::string base) : base_(std::move(base)) {}
  /// Waits at most kWait for all running writes together.
  ~StacksFiles();
  StacksFiles(const StacksFiles&) = delete;
  StacksFiles& operator=(const StacksFiles&) = delete;

  /// A file whose write has started. Lives as long as the StacksFiles.
  class File {
   public:
    File(std::string path, sys::HelperProcess writer) : path_(std::move(path)), writer_(std::move(writer)) {}
    /// Readable when ended() may have changed.
    int fd() const { return writer_.out().get(); }
    /// Whether the write has ended.
    bool ended();
    /// The path if the file is written now; else empty.
    std::string written();
    /// "PATH", "not written yet: PATH", or "cannot write PATH: No space left on device".
    std::string describe();

   private:
    friend StacksFiles;

    std::string path_;
    sys::HelperProcess writer_;
    std::string answer_ = {};
    bool ended_ = false;
  };

  /// Starts the write. Null if no file is wanted.
  File* write(const std::string& text);

 private:
  static constexpr std::chrono::seconds kWait{1};
  static constexpr int kMost = 100;  // files of a round

  const std::string base_;
  int written_ = 0;
  std::list<File> files_;
};

}  // namespace dlaunch::report
