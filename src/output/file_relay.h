// FileRelay: a process that writes dlaunch's own stdout or stderr if that is a regular file. A write to a disk that
// hangs stops only this process. Owned by StandardStreams.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>

#include "sys/helper_process.h"
#include "sys/shared_object.h"

namespace dlaunch::output {

class FileRelay {
 public:
  FileRelay() = default;
  FileRelay(const FileRelay&) = delete;
  FileRelay& operator=(const FileRelay&) = delete;
  ~FileRelay();

  /// Starts the process, which writes to `file`, one of the descriptors 0 to 2. Returns the writing end of a pipe to
  /// the process, non-blocking; -1: no process could be started. A failed write closes the reading end.
  int start(int file);
  /// The errno of the failed write, or kKilled; 0: none.
  int error() const;
  /// error() after the end of a process that did not write all bytes. No write(2) has this errno.
  static constexpr int kKilled = EOWNERDEAD;
  /// The pipe to the process is closed at the other end: a write has failed, or the process was killed.
  void set_closed() const;
  /// Waits until the first `given` bytes are written, or a write fails. Returns false if the file does not accept data
  /// for `longest`.
  bool await(std::uint64_t given, std::chrono::milliseconds longest) const;
  /// No more bytes follow the first `given`. Waits until all bytes are written, or a write fails. Returns false if the
  /// file does not accept data for `longest`. The process then writes the rest after the end of dlaunch.
  bool finish(std::uint64_t given, std::chrono::milliseconds longest);
  /// The number of bytes that the file has accepted.
  std::uint64_t written() const { return progress_ ? progress_->written.load() : 0; }
  int pid() const { return pid_; }

 private:
  struct Progress {
    std::atomic<std::uint64_t> written{0};
    std::atomic<int> error{0};
  };
  static void run(int pipe, int file, Progress& progress);
  bool await_end_or(std::uint64_t given, std::chrono::milliseconds longest) const;

  sys::SharedObject<Progress> progress_;
  std::optional<sys::HelperProcess> process_;
  int pid_ = 0;
};

}  // namespace dlaunch::output
