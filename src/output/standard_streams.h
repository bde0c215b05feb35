// The launcher's own stdout and stderr, for the life of the process. The ranks' lines and dlaunch's own messages go
// through the same writers, which keeps their order, and neither waits for a reader. Owned by run(), which drops what
// no reader takes or waits for it. The fds must outlive it. The process must ignore SIGPIPE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/output.h"
#include "output/fd_writer.h"

namespace dlaunch::output {

class StandardStreams {
 public:
  struct Fds {
    int out = 1;
    int err = 2;
  };
  /// What happens to lines that no reader takes: needed ones always wait; notes and -v lines wait while less than
  /// kMostWaiting does, else they are counted, and their number is shown once there is room.
  enum class Importance { needed, note, verbose };
  static constexpr std::size_t kMostWaiting = 1280 * 1024;  ///< the ranks' 256 KiB and 1 MiB of our own

  explicit StandardStreams(Fds fds);
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;

  /// Whether both are one file or terminal. They then have one writer, and stdout's fd stands for both.
  bool are_one() const { return !err_; }
  int fd(Stream stream) const { return stream == Stream::out || are_one() ? fds_.out : fds_.err; }
  FdWriter& writer(Stream stream) { return stream == Stream::out || are_one() ? out_ : *err_; }

  bool owns(const FdWriter& writer) const { return &writer == &out_ || (err_ && &writer == &*err_); }

  /// Prints on stdout a text that was asked for. Returns the given exit code, or why the text could not be written: a
  /// full disk is an Error, a reader that has seen enough is not.
  Result<int> print(std::string_view text, int exit_code = 0);
  /// Prints whole lines on stderr, after a newline where a rank's line is unfinished. It makes them printable;
  /// message() (base/printable.h) makes lines of a text. Needed lines are tried even after a failed write.
  void say(Importance importance, std::string_view lines);
  /// Writes bytes on stderr that are no line and that the next overlay removes: the status line.
  void overlay(std::string_view bytes);

  /// The writers with bytes waiting: call flush() when poll_fd() of one is writable.
  std::vector<FdWriter*> waiting();
  void flush(FdWriter& writer);
  /// Waits without limit until everything is written: only where no loop runs and signals have their default effect.
  void wait_written();
  /// How many bytes both have taken so far.
  std::uint64_t written() const { return out_.written() + (err_ ? err_->written() : 0); }
  /// Drops what waits and all that follows.
  void give_up();

  /// Sets the call that comes before anything is shown, so that a drawn line can be removed.
  void before_showing(std::function<void()> hook) { before_showing_ = std::move(hook); }
  void showing() const {
    if (before_showing_) before_showing_();
  }
  /// Sets the call that comes when lines of say() have to wait.
  void on_waiting(std::function<void()> hook) { on_waiting_ = std::move(hook); }

 private:
  struct Dropped {
    std::size_t notes = 0;
    std::size_t verbose = 0;
  };
  FdWriter& error_writer() { return writer(Stream::err); }
  bool drop(Importance importance, const std::string& lines);
  void tell_dropped();

  const Fds fds_;
  FdWriter out_;
  std::optional<FdWriter> err_;
  Dropped dropped_;
  std::function<void()> before_showing_;
  std::function<void()> on_waiting_;
};

}  // namespace dlaunch::output
