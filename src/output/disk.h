// Disk: the launcher's side of the disk process, which writes a job's files. A write that hangs stops only that
// process. Commands and bytes go through a pipe, so at most one pipe of data is in flight; events come back. Owned by
// Output.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/output.h"
#include "output/fd_writer.h"
#include "sys/helper_process.h"
#include "sys/oom_kills.h"
#include "sys/shared_object.h"

namespace dlaunch::output {

// The messages between Output and the disk process. Both run the same program, so structs are sent as in memory.

/// Sent through a pipe, followed by `size` bytes: a path, or the bytes to write.
struct DiskCommand {
  enum class Kind : std::uint32_t {
    lock,           ///< creates and locks the log directory: Claimed, or Locked if another job has the lock
    lock_existing,  ///< as `lock`, without creation
    rotate,  ///< renames the directory to PATH.1, an existing one to PATH.2, … up to PATH.N with N in `file`: Rotated
    create,  ///< creates and locks the file, and creates its directories: Created
    create_direct,  ///< as `create`, for a file that the rank opens itself
    create_append,  ///< as `create`, without truncation
    empty,          ///< truncates the created files: Emptied. Later, `create` truncates, too
    watch,          ///< opens a file that the agent created, and that the rank writes itself
    rank_ended,     ///< the rank that writes the file has ended: Failed if the file may be cut
    look,           ///< not a command: the process looks at the ranks' own files
    write,
    close,
    get_size,       ///< reports the size of the file with the path: Size
    get_size_tail,  ///< as `get_size`, with the last bytes of the file
    sync,           ///< syncs the file with the path to the device
  };
  Kind kind;
  std::uint32_t file;
  std::uint32_t size;
};

/// Sent through a socket, followed by `text` bytes. Writes are reported only if they fail, once per file.
struct WriterEvent {
  enum class Kind : std::uint32_t {
    created,  ///< `error` is 0 on success; with a descriptor if the file is a FIFO, a terminal or a socket
    rotated,  ///< `error` is 0 on success, else the text is the failed step
    claimed,
    locked,  ///< another job writes the file or the directory; `size` is the pid of its launcher, or 0
    emptied,
    failed,  ///< `size` is the number of bytes that were written to files before
    size,
  };
  Kind kind;
  std::uint32_t file;
  std::int32_t error = 0;  ///< errno
  std::uint32_t has_fd = 0;
  std::uint32_t text = 0;    ///< length of the text; Size: the file's last bytes
  std::uint64_t size = 0;    ///< Size: of the file; Created: of the earlier file; Failed: DiskProgress::taken
  std::int64_t time_ns = 0;  ///< Created: modification time of the earlier file
};

/// In memory that both processes share.
struct DiskProgress {
  std::atomic<std::uint64_t> taken{0};   ///< bytes written or dropped
  std::atomic<std::uint32_t> file{0};    ///< file of the current command
  std::atomic<std::uint32_t> failed{0};  ///< sent events `failed`; changes before `taken` counts dropped bytes
  std::atomic<DiskCommand::Kind> at{DiskCommand::Kind::create};
};

class Disk {
 public:
  struct Event : WriterEvent {
    std::string tail = {};
    sys::Fd fd = {};
  };

  /// The process keeps the inherited descriptors if one of the files is such a descriptor (sys/inherited.h).
  static Result<std::unique_ptr<Disk>> start(const FileSettings& files = {});
  ~Disk();

  /// Sends a command that concerns a path.
  void ask(DiskCommand::Kind kind, std::uint32_t file, const std::string& path);
  void write(std::uint32_t file, std::span<const std::string_view> parts);
  void close(std::uint32_t file) { ask(DiskCommand::Kind::close, file, {}); }
  /// No more commands follow: the process exits after the last one.
  void finish();

  /// Queues bytes that do not fit into the pipe. Flush the writer if its fd is writable, then call flushed().
  FdWriter& writer() { return writer_; }
  void flushed();
  std::size_t pending() const { return ended_ ? 0 : writer_.pending(); }
  /// If the fd is readable, call events().
  int event_fd() const { return process_.out().get(); }
  /// All events that arrived.
  std::vector<Event> events();
  /// Waits for events. Returns no events after `longest`, if `wait` ends early, or if the process has ended.
  std::vector<Event> wait_events(std::chrono::milliseconds longest, const sys::Wait& wait);

  /// Bytes that are neither written nor dropped yet.
  std::uint64_t unwritten() const { return given_ - progress_->taken; }
  bool lacks(std::uint32_t file) const { return file < given_to_.size() && given_to_[file] > progress_->taken; }
  /// The files with such bytes.
  std::vector<std::uint32_t> unwritten_files() const;
  std::uint64_t taken() const { return progress_->taken; }
  /// Bytes given to write().
  std::uint64_t given() const { return given_; }
  /// The first bytes given to write(), all of them written, or of a file whose event `failed` arrived.
  std::uint64_t settled() const;
  /// The current command of the process; file() is the command's file.
  DiskCommand::Kind at() const { return progress_->at; }
  /// Whether all files are written and closed: only sizes, tails and syncs are left.
  bool has_all() const;
  std::uint32_t file() const { return progress_->file; }
  bool ended() const { return ended_; }
  int pid() const { return process_.pid(); }
  /// The text of OomWatch, since the start of the process.
  std::string oom() const { return oom_.text(); }
  /// Kills the process. Unwritten bytes are lost.
  void give_up();
  /// The job ends before its ranks start: the process drops its commands, removes the files that it created and did not
  /// empty, and exits, also if the disk responds only after the end of the job.
  void stop();
  /// As stop(), and waits for the exit for at most 1 s. Returns whether the process has ended.
  bool cancel();

 private:
  using Progress = sys::SharedObject<DiskProgress>;

  Disk(sys::HelperProcess process, Progress progress);
  std::optional<Event> next_event();

  sys::OomWatch oom_;
  sys::HelperProcess process_;
  Progress progress_;
  FdWriter writer_;
  std::string received_;
  std::vector<sys::Fd> fds_;  // received with received_
  std::uint64_t given_ = 0;
  std::uint32_t failed_ = 0;             // received events `failed`
  std::vector<std::uint64_t> given_to_;  // for each file: the value of given_ after the last write to it
  bool finishing_ = false;
  bool stopped_ = false;
  bool ended_ = false;
};

/// The Writer of one file.
class DiskFile final : public Writer {
 public:
  DiskFile(Disk& disk, std::uint32_t file) : disk_(disk), file_(file) {}
  using Writer::write;
  void write(std::span<const std::string_view> parts) override { disk_.write(file_, parts); }
  std::size_t pending() const override { return disk_.pending(); }

 private:
  Disk& disk_;
  std::uint32_t file_;
};

/// The disk process: executes DiskCommands (create, write, close, …) one after the other, until the pipe of commands
/// ends. Forked by Disk; the launcher kills a process that hangs in a command.
void run_disk_process(sys::HelperProcess::Ends ends, DiskProgress& progress);

}  // namespace dlaunch::output
