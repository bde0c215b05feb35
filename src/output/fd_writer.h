// FdWriter: a Writer for one fd. The writer never blocks on a slow reader and never changes the fd's flags, because the
// user's shell may share the fd. The writer queues bytes that the fd does not accept; its owner checks pending() before
// more writes. Owned by StandardStreams, Disk, or RankFiles (FIFOs and terminals). The process must ignore SIGPIPE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "output/channel.h"
#include "output/file_relay.h"

namespace dlaunch::output {

class FdWriter final : public Writer {
 public:
  /// For an fd that other processes may share. The fd must outlive the writer.
  static FdWriter borrowed(int fd) { return FdWriter(fd, false); }
  /// As borrowed(), but the writer owns the fd.
  static FdWriter owned(int fd);
  /// For a non-blocking pipe that no other process shares. The fd must outlive the writer.
  static FdWriter pipe(int fd);
  /// From the first write on, the bytes go through `relay`, which must outlive the writer. For a regular file: a disk
  /// that hangs does not stop this process.
  void pass_through(FileRelay& relay) { relay_ = &relay; }
  /// The errno of a relay that failed since the last write; 0: it did not. From now on error() returns it.
  int find_relay_error();
  /// Later bytes go to the file directly.
  void leave_relay();
  /// For a file that could not be opened: drops all bytes.
  static FdWriter failed(int error);
  FdWriter(FdWriter&& other) noexcept;
  FdWriter& operator=(FdWriter&&) = delete;
  ~FdWriter() override;

  using Writer::write;
  void write(std::span<const std::string_view> parts) override;
  /// Writes bytes that do not change mid_line().
  void overlay(std::string_view bytes);
  void flush();
  /// Tries to write a line after an earlier failure: the disk may have free space again, or the pipe a reader. Drops
  /// bytes that the fd does not accept at once.
  void write_after_failure(std::string_view line);
  std::uint64_t written() const { return written_; }
  /// Drops queued and later bytes.
  void give_up();
  std::size_t pending() const override { return queue_.size() - sent_; }

  /// Whether the last line is unfinished.
  bool mid_line() const { return mid_line_; }

  /// The fd to poll for writability. Pipes and terminals are written through a separate file description.
  int poll_fd() const { return reopened_ >= 0 ? reopened_ : fd_; }

  /// The errno of the first failed write, else 0. After a failure all bytes are dropped, except write_after_failure().
  int error() const { return error_; }

  /// Closes an owned fd; error() includes an error of close().
  void close();

 private:
  enum class Way { direct, nonblocking, socket, polled };

  FdWriter(int fd, bool owned, std::optional<Way> way = {});
  void start_relay();
  void choose_way();
  void reopen();
  std::size_t write_now(std::span<const std::string_view> parts);
  bool wait_or_give_up();
  void queue_rest(std::span<const std::string_view> parts, std::size_t skip);

  int fd_;
  bool owned_;
  Way way_ = Way::direct;
  int reopened_ = -1;
  FileRelay* relay_ = nullptr;
  int file_ = -1;  // the fd while the bytes go through the relay
  int error_ = 0;
  bool mid_line_ = false;
  std::string queue_;
  std::size_t sent_ = 0;  // bytes of queue_
  std::uint64_t written_ = 0;
};

}  // namespace dlaunch::output
