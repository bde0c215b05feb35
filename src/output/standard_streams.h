// StandardStreams: the launcher's own stdout and stderr, for the life of the process. The ranks' lines and dlaunch's
// own messages use the same writers, which keeps their order, and neither waits for a reader. Owned by run(), which
// waits for queued bytes or drops them. The fds must outlive the StandardStreams. The process must ignore SIGPIPE.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/output.h"
#include "output/fd_writer.h"
#include "output/file_relay.h"

namespace dlaunch::output {

class StandardStreams {
 public:
  struct Fds {
    int out = 1;
    int err = 2;
    std::optional<bool> terminals = {};  ///< whether both are terminals; empty: isatty() decides
  };
  /// Lines that the reader does not accept: `needed` lines are always queued. Notes and -v lines are queued up to
  /// kMostWaiting bytes in total; further ones are counted, and the count is printed later.
  enum class Importance { needed, note, verbose };
  static constexpr std::size_t kMostWaiting = 1280 * 1024;  ///< the ranks' 256 KiB plus 1 MiB for messages

  static constexpr std::chrono::seconds kDiskWait{5};  ///< without a written byte

  explicit StandardStreams(Fds fds);
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;

  /// A process writes each regular file from now on: a disk that hangs does not stop dlaunch. The caller must not write
  /// to the files itself.
  void relay_files();

  /// Whether stdout and stderr are the same file or terminal. Both then use the fd and the writer of stdout.
  bool are_one() const { return !err_; }
  int fd(Stream stream) const { return stream == Stream::out || are_one() ? fds_.out : fds_.err; }
  bool is_terminal(Stream stream) const;
  FdWriter& writer(Stream stream) { return stream == Stream::out || are_one() ? out_ : *err_; }

  bool owns(const FdWriter& writer) const { return &writer == &out_ || (err_ && &writer == &*err_); }

  /// Prints a text on stdout. Returns `exit_code`, or the Error of the write. A closed pipe is not an Error.
  Result<int> print(std::string_view text, int exit_code = 0);
  /// While the terminal is in raw mode, the lines of say() end with "\r\n" there.
  void set_raw_terminal(bool raw) { raw_terminal_ = raw; }

  /// Prints complete lines on stderr, after a newline if a rank's line is unfinished. Escapes unprintable characters;
  /// message() (base/printable.h) splits a text into lines. `needed` lines are tried again after a failed write.
  void say(Importance importance, std::string_view lines);
  /// Writes the status line on stderr. The bytes are not a line, and the next overlay removes them.
  void overlay(std::string_view bytes);

  /// The writers with queued bytes: call flush() for a writer if its poll_fd() is writable.
  std::vector<FdWriter*> waiting();
  void flush(FdWriter& writer);
  /// Waits until files have taken the bytes that were written to them. Returns an Error if a disk does not respond for
  /// kDiskWait, or the Error of a failed write that is not known yet.
  Result<void> await_files();
  /// Whether a file does not accept bytes now.
  bool files_wait();
  /// The number of bytes that files have accepted. The number does not change while the disks of all files hang.
  std::uint64_t files_progress() const;
  /// Drops the bytes that files do not accept, and later bytes for them. Returns an Error if bytes were dropped.
  Result<void> give_up_files();
  /// Waits until everything is written: for a reader without limit, for files as await_files() does. Only without an
  /// event loop, and with default signal actions.
  Result<void> wait_written();
  /// The number of bytes written to both so far.
  std::uint64_t written() const { return out_.written() + (err_ ? err_->written() : 0); }
  /// Drops queued and later bytes.
  void give_up();

  /// Sets a callback that is called before each write, to remove the status line.
  void before_showing(std::function<void()> hook) { before_showing_ = std::move(hook); }
  void showing() const {
    if (before_showing_) before_showing_();
  }
  /// Sets a callback that is called before the lines of say() are written, to write earlier output.
  void before_saying(std::function<void()> hook) { before_saying_ = std::move(hook); }
  /// Sets a callback that is called if lines of say() are queued.
  void on_waiting(std::function<void()> hook) { on_waiting_ = std::move(hook); }

 private:
  struct Dropped {
    std::size_t notes = 0;
    std::size_t verbose = 0;
  };
  FdWriter& error_writer() { return writer(Stream::err); }
  bool drop(Importance importance, const std::string& lines);
  void report_dropped();

  struct File {
    Stream stream;
    FileRelay relay;
    bool hangs = false;  ///< and this was reported
  };
  Result<void> finish(File& file);
  Result<void> give_up(File& file);
  enum class Lost { nothing, the_end };
  static Result<void> hangs(File& file, Lost lost);
  bool accepts(File& file);

  const Fds fds_;
  std::deque<File> files_;  // the writers have pointers to the relays
  FdWriter out_;
  std::optional<FdWriter> err_;
  Dropped dropped_;
  bool raw_terminal_ = false;
  std::function<void()> before_showing_;
  std::function<void()> before_saying_;
  std::function<void()> on_waiting_;
};

}  // namespace dlaunch::output
