// The launcher's own stdout and stderr, for the whole life of the process. The ranks' lines and what dlaunch itself
// says go through the same writers: their order holds, and none of them waits for a reader. Owned by run(), which gives
// up what no reader takes or waits for it; the fds must outlive it. The process must ignore SIGPIPE.
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
  /// What may happen to lines that no reader takes: needed ones always wait, notes and -v lines while less than
  /// kMostWaiting does; those left out are counted, and their number is told once there is room.
  enum class Importance { needed, note, verbose };
  static constexpr std::size_t kMostWaiting = 1280 * 1024;  ///< of the ranks' 256 KiB and of our own 1 MiB

  explicit StandardStreams(Fds fds);
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;

  /// Both are one file or terminal: then they have one writer, and the fd of stdout stands for both.
  bool are_one() const { return !err_; }
  int fd(Stream stream) const { return stream == Stream::out || are_one() ? fds_.out : fds_.err; }
  FdWriter& writer(Stream stream) { return stream == Stream::out || are_one() ? out_ : *err_; }

  bool owns(const FdWriter& writer) const { return &writer == &out_ || (err_ && &writer == &*err_); }

  /// On stdout, text that was asked for. The exit code that was given, or why the text could not be written: a full
  /// disk is an error, a reader that has seen enough is not.
  Result<int> print(std::string_view text, int exit_code = 0);
  /// Whole lines on stderr, behind an unfinished one of a rank if need be. They are made printable here, whatever they
  /// hold; message() (base/printable.h) makes lines of a text. Needed ones are tried even where writing has failed.
  void say(Importance importance, std::string_view lines);
  /// Bytes on stderr that are no line and that the next overlay takes away: the status line.
  void overlay(std::string_view bytes);

  /// Those of the writers with bytes waiting: call flush() when poll_fd() of one is writable.
  std::vector<FdWriter*> waiting();
  void flush(FdWriter& writer);
  /// Waits until everything is written, without end: only where no loop runs and signals have their default effect.
  void wait_written();
  /// Bytes that were taken of both, so far.
  std::uint64_t written() const { return out_.written() + (err_ ? err_->written() : 0); }
  /// What waits is given up, and what comes.
  void give_up();

  /// Called before anything may be shown, so that something drawn there can be taken away.
  void before_showing(std::function<void()> hook) { before_showing_ = std::move(hook); }
  void showing() const {
    if (before_showing_) before_showing_();
  }
  /// Called when lines of say() have to wait.
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
