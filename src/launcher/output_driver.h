// Drives the passive Output from the loop: waits until its console is writable and for events of its file writer, keeps
// its deadlines, and reports when streams may be ready again. Owned by the Launcher; the Output must outlive this
// object.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "dlaunch/outcome.h"
#include "launcher/waits.h"
#include "output/output.h"

namespace dlaunch::launcher {

/// The maximum time without a written byte to files after the ranks have ended.
inline constexpr std::chrono::seconds kFilesWait{10};

class OutputDriver {
 public:
  struct Handlers {
    std::function<void()> moved;   ///< streams may be ready again
    std::function<void()> failed;  ///< a sink failed, or the reader is gone: see output()
    /// A rank wrote these bytes; no bytes: its stream has ended. May be empty.
    std::function<void(int rank, output::Stream stream, std::string_view bytes)> wrote = {};
  };
  OutputDriver(asio::io_context& io, output::Output& output);
  ~OutputDriver();
  OutputDriver(const OutputDriver&) = delete;
  OutputDriver& operator=(const OutputDriver&) = delete;

  void start(Handlers handlers);
  output::Output& output() { return output_; }

  /// Calls Output::begin(). Calls handlers.failed when Output::begun() may have a result.
  void begin();
  void feed(int rank, output::Stream stream, std::string_view bytes, std::int64_t wall_ns);
  void end(int rank, output::Stream stream);
  void rank_ended(int rank);
  /// Sets the members about output.
  void describe(job::Progress& progress) const;
  /// The number of bytes that ranks wrote.
  std::uint64_t fed() const { return fed_; }
  /// Whether the console has taken all output.
  bool flushed() const { return output_.waiting().empty(); }

  /// All ranks have ended: from now on, drops the bytes of stalled files, also of stdout and stderr.
  void ranks_ended();
  /// Whether a noticeably long wait for a disk, after the end of the ranks, lies before `at`.
  bool has_waited(Time at) const;
  /// The job's deadline is `at`, which may be in the past.
  void hurry(Time at = Clock::now());
  /// All streams have ended. Calls handlers.failed after the last file is complete or dropped.
  void finish_files(std::optional<int> failed);
  bool files_settled() const { return output_.files_settled(); }

 private:
  void after_change();
  void wait_writer_events();
  void watch();
  void watch_files();
  void watch_console();

  asio::io_context& io_;
  output::Output& output_;
  Deadline deadline_;
  WriteWaits waits_;
  std::optional<Readiness> writer_events_;
  Deadline files_deadline_;
  Deadline console_deadline_;
  struct Watch {
    Time since;
    Time moved;
    std::uint64_t progress;
  };
  void end_wait(std::optional<Watch>& watch);
  static Time last_moved(std::optional<Watch>& watch, std::uint64_t progress, Time now);
  std::optional<Watch> watch_;          // set during the wait for files
  std::optional<Watch> console_watch_;  // set during the wait for files that are stdout or stderr
  std::optional<Time> disk_hung_at_;
  std::uint64_t fed_ = 0;  // bytes
  std::optional<Time> hurry_at_;
  bool ranks_ended_ = false;
  Handlers handlers_;
  bool changing_ = false;
};

}  // namespace dlaunch::launcher
