// A Writer of one fd that never blocks on a slow reader and never touches the fd's flags, which it may share with the
// user's shell. What the fd does not take now is queued; the owner asks pending() before it brings more.
// The process must ignore SIGPIPE.
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
  /// A fd that others of this machine share, which must outlive this.
  static FdWriter borrowed(int fd) { return FdWriter(fd, false); }
  /// A non-blocking one that nobody shares, as its own.
  static FdWriter owned(int fd) { return FdWriter(fd, true, Way::nonblocking); }
  /// A non-blocking pipe that nobody shares, and that must outlive this.
  static FdWriter pipe(int fd);
  /// Writes nowhere: the file could not be opened.
  static FdWriter failed(int error);
  FdWriter(FdWriter&& other) noexcept;
  FdWriter& operator=(FdWriter&&) = delete;
  ~FdWriter() override;

  using Writer::write;
  void write(std::span<const std::string_view> parts) override;
  /// Bytes that leave the line as they found it, unfinished or not.
  void overlay(std::string_view bytes);
  void flush();
  /// Tries to write a line although a write before failed: the disk may have room again, the pipe a reader. What is not
  /// taken at once is dropped.
  void write_after_failure(std::string_view line);
  std::uint64_t written() const { return written_; }
  /// Drops what is queued, and all that comes.
  void give_up();
  std::size_t pending() const override { return queue_.size() - sent_; }

  /// The last byte given was none that ends a line.
  bool mid_line() const { return mid_line_; }

  /// What to wait on for "writable": a pipe or terminal is written through a description of its own.
  int poll_fd() const { return reopened_ >= 0 ? reopened_ : fd_; }

  /// errno of the first write that failed, else 0. Everything after it is dropped but write_after_failure().
  int error() const { return error_; }

  /// Closes an owned fd; what close() reports becomes error().
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
  std::size_t sent_ = 0;  // of queue_
  std::uint64_t written_ = 0;
};

}  // namespace dlaunch::output
