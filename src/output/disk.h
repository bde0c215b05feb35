// Our side of the process that writes a job's files and may hang in a write without us. Commands and bytes go through a
// pipe, which is all that is ever in flight; failures come back. Owned by Output.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "output/disk_protocol.h"
#include "output/fd_writer.h"
#include "sys/helper_process.h"

namespace dlaunch::output {

class Disk {
 public:
  struct News : WriterEvent {
    std::string tail = {};
    sys::Fd fd = {};
  };

  static Result<std::unique_ptr<Disk>> start();
  ~Disk();

  /// Sends a command that concerns a path.
  void ask(DiskCommand::Kind kind, std::uint32_t file, const std::string& path);
  void write(std::uint32_t file, std::span<const std::string_view> parts);
  void close(std::uint32_t file) { ask(DiskCommand::Kind::close, file, {}); }
  /// Sends no more: the process ends once it has done everything.
  void finish();

  /// Holds what does not fit into the pipe now. Flush it when it is writable, and then call flushed().
  FdWriter& writer() { return writer_; }
  void flushed();
  std::size_t pending() const { return ended_ ? 0 : writer_.pending(); }
  /// To be waited for; when it is readable, call news().
  int news_fd() const { return apart_.out().get(); }
  /// All news that came.
  std::vector<News> news();
  /// The same once there are some; none when none came in that time or the process has ended.
  std::vector<News> wait_news(std::chrono::milliseconds longest);

  /// Bytes that were given and are neither written nor refused.
  std::uint64_t unwritten() const { return given_ - progress_->taken; }
  std::uint64_t taken() const { return progress_->taken; }
  /// What the process is doing; file() says with which file.
  DiskCommand::Kind at() const { return progress_->at; }
  /// All is written and closed; it only looks at files, or waits for the device.
  bool has_all() const;
  std::uint32_t file() const { return progress_->file; }
  bool ended() const { return ended_; }
  int pid() const { return apart_.pid(); }
  /// Kills the process. What it has not written is lost.
  void give_up();

 private:
  struct Unmap {
    void operator()(DiskProgress* progress) const;
  };
  using Progress = std::unique_ptr<DiskProgress, Unmap>;

  Disk(sys::HelperProcess apart, Progress progress);
  std::optional<News> next_news();

  sys::HelperProcess apart_;
  Progress progress_;
  FdWriter writer_;
  std::string received_;
  std::vector<sys::Fd> fds_;  // that came with received_
  std::uint64_t given_ = 0;
  bool finishing_ = false;
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

}  // namespace dlaunch::output
