// A Writer of one fd that never blocks on a slow reader and never changes the fd's flags, which it may share with the
// user's shell. It queues what the fd does not take now; its owner asks pending() before it brings more. The process
// must ignore SIGPIPE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "output/writer.h"

namespace dlaunch::output {

class FdWriter final : public Writer {
 public:
  /// For a fd that other processes share. The fd must outlive the writer.
  static FdWriter borrowed(int fd) { return FdWriter(fd, false); }
  /// For a non-blocking fd that nobody shares. The writer owns it.
  static FdWriter owned(int fd) { return FdWriter(fd, true, Way::nonblocking); }
  /// For a non-blocking pipe that nobody shares. The fd must outlive the writer.
  static FdWriter pipe(int fd);
  /// For a file that could not be opened: writes nowhere.
  static FdWriter failed(int error);
  FdWriter(FdWriter&& other) noexcept;
  FdWriter& operator=(FdWriter&&) = delete;
  ~FdWriter() override;

  using Writer::write;
  void write(std::span<const std::string_view> parts) override;
  /// Writes bytes that do not change whether the line is unfinished.
  void overlay(std::string_view bytes);
  void flush();
  /// Tries to write a line after an earlier failure, since the disk may have room again or the pipe a reader. What is
  /// not taken at once is dropped.
  void write_after_failure(std::string_view line);
  std::uint64_t written() const { return written_; }
  /// Drops what is queued and everything that follows.
  void give_up();
  std::size_t pending() const override { return queue_.size() - sent_; }

  /// Whether the last byte was not the end of a line.
  bool mid_line() const { return mid_line_; }

  /// The fd to wait for until it is writable: a pipe or terminal is written through a file description of its own.
  int poll_fd() const { return reopened_ >= 0 ? reopened_ : fd_; }

  /// The errno of the first write that failed, else 0. After it everything but write_after_failure() is dropped.
  int error() const { return error_; }

  /// Closes an owned fd; an error of close() becomes error().
  void close();

 private:
  enum class Way { direct, nonblocking, socket, polled };

  FdWriter(int fd, bool owned, std::optional<Way> way = {});
  void choose_way();
  void reopen();
  std::size_t write_now(std::span<const std::string_view> parts);
  bool wait_or_give_up();
  void queue_rest(std::span<const std::string_view> parts, std::size_t skip);

  int fd_;
  bool owned_;
  Way way_ = Way::direct;
  int reopened_ = -1;
  int error_ = 0;
  bool mid_line_ = false;
  std::string queue_;
  std::size_t sent_ = 0;  // how much of queue_
  std::uint64_t written_ = 0;
};

}  // namespace dlaunch::output
