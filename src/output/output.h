// Output writes the ranks' output to the console and to files, in lines and with labels. Passive: the launcher calls
// feed() with bytes, waits for the file descriptors and deadlines, and reads only streams that are ready(). This
// back-pressure limits the memory. Owned by JobRun (session/job_run.h); the standard streams must outlive the Output.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"
#include "dlaunch/output.h"
#include "output/standard_streams.h"

namespace dlaunch::output {

class FdWriter;

/// The facts of a rank for labels and file names.
struct RankFacts {
  std::string host;
  int local_rank = 0;
  std::optional<int> device;
  std::string name = {};          ///< of the sidecar, which follows all ranks and has only stdout; empty for a rank
  int world = 1;                  ///< numbered as in dlaunch/worlds.h
  int first = 0;                  ///< id of its world's rank 0
  bool local = false;             ///< on the launcher's machine, with the same files
  std::optional<int> round = {};  ///< only in a job with restarts
  int attempt = 0;                ///< how often the batch system requeued the job before
};

/// The last lines of one stream of a rank.
struct LastLines {
  std::vector<std::string> lines = {};
  std::string stream = "stderr";  ///< "stderr", "stdout", or "output" if both streams are one
  std::string path = {};          ///< the rank's file of the stream; empty without a file
};

class Output {
 public:
  /// Receives a line of a stream without its newline, or a part of a long line.
  using OnLine = std::function<void(int rank, Stream stream, std::string_view line)>;

  /// A separate process writes the files, because a disk may hang. `on_line` receives all output, in addition to
  /// console and files.
  static Result<std::unique_ptr<Output>> open(const OutputSettings& settings, std::vector<RankFacts> ranks,
                                              StandardStreams& streams, OnLine on_line = {});
  /// Creates and locks the files of all ranks, and returns the first Error. Files of an earlier job are unchanged.
  /// Waits while the disk works, at most 10 s without progress.
  Result<void> claim();
  /// Call once, before ranks start: claims the files unless claim() did, and empties them, or renames the log
  /// directories of earlier jobs and creates the files. Does not wait: begun() has the result, at the latest 10 s after
  /// the last progress of the disk. Without a result, the files that this object created are removed.
  void begin(Time now);
  /// nullopt: the disk is still working. Call again after handle_writer_events(), and at times.
  std::optional<Result<void>> begun(Time now);
  /// The step that begun() waits for, such as "rename /x/logs"; empty: none.
  std::string step() const;
  /// Ends the locks of the files, before another Output claims files in the same place. Waits for at most 1 s.
  void close_files();
  ~Output();

  /// Describes files of an earlier job that begin() overwrote; empty if there were none.
  std::string overwritten() const;

  /// Adds the ranks of another world, with the next ids. An Error adds no rank. A file that cannot be created is
  /// reported later, by take_error().
  Result<void> add(const std::vector<RankFacts>& ranks);

  /// Whether the stream may be fed now. Call this before each read: a partial line of a stream that is not ready does
  /// not count as idle. Only flush(), tick(), feed() and end() can change the result from false to true.
  bool ready(int rank, Stream stream) const;
  /// The largest number of bytes for feed() with which --fold finds equal lines.
  std::size_t most_fed() const;

  /// `wall_ns`: CLOCK_REALTIME on the rank's host at the time of the read.
  void feed(int rank, Stream stream, std::string_view bytes, Time now, std::int64_t wall_ns);

  /// Ends the stream and writes its last partial line.
  void end(int rank, Stream stream, Time now);

  /// The rank's process has started. --fold needs its pid.
  void rank_started(int rank, int pid);
  /// The rank has ended. take_error() reports later if a file that the rank wrote itself may be cut.
  void rank_ended(int rank);

  /// The writers with queued bytes: call flush() for a writer if its poll_fd() is writable. Stdout and stderr share one
  /// writer if both are the same file or terminal. Writers live as long as this object. After the end of all streams,
  /// an empty result means that the console has all output and the files have it or are being written.
  std::vector<FdWriter*> waiting() const;
  StandardStreams& streams() const;
  void flush(FdWriter& writer, Time now);

  /// The fd that reports events of the files, or -1. If the fd is readable, call handle_writer_events(); streams may be
  /// ready after that.
  int event_fd() const;
  void handle_writer_events();
  /// Call after the end of all streams. Syncs the files of the rank that failed first to the device.
  void finish_files(std::optional<int> failed);
  /// Whether no bytes are queued for files; after finish_files(), whether all files are also closed.
  bool files_settled() const;
  /// A number that changes while files are written.
  std::uint64_t files_progress() const;
  /// Drops queued and later bytes for files. take_error() reports the loss once, after finish_files().
  void give_up_files(Time now);

  /// The latest time to call tick(), which writes partial lines of idle streams (output/channel.h).
  std::optional<Time> deadline() const;
  void tick(Time now);

  /// The next error, until there is none: the first failed write (full disk, closed pipe), stdout or stderr that was
  /// given up, files that were given up. Later bytes for the sink are dropped.
  std::optional<Error> take_error();
  /// Whether lines were folded for the first time although the user did not set --fold. True once.
  bool take_fold_note();
  /// The progress bars of the ranks (bars.h); empty if there are none.
  std::string bars() const;
  /// Gives up stdout and stderr if they are files that do not accept bytes; take_error() has the reason.
  void give_up_console(Time now);
  /// Whether the reader of stdout has closed the pipe (EPIPE). The job then ends without a message, like a filter.
  bool reader_gone() const;

  /// The last lines of a rank's stderr, at most kLastLines. If stderr has only white space: the last lines of stdout.
  LastLines last_lines(int rank) const;
  /// The last lines of the stream that the rank wrote to last. As last_lines() if the rank writes files itself.
  LastLines newest_lines(int rank) const;
  /// The number of bytes fed, including dropped bytes; the file's size if the rank writes the file itself.
  std::uint64_t bytes(int rank, Stream stream) const;
  /// The path of the rank's file for the stream; empty without a file.
  std::string path(int rank, Stream stream) const;

 private:
  class Impl;
  explicit Output(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

inline constexpr int kLastLines = 10;  ///< lines of a rank in the failure summary

/// The absolute path of a file that a local rank writes itself, because nothing else reads the stream (nocopy, no tags
/// in the file); empty for all other streams. Pure; open() uses the same rule. `rank` is the number in the world,
/// `ranks` the size of the world.
std::string direct_path(const OutputSettings& settings, const RankFacts& facts, int rank, int ranks, Stream stream);

}  // namespace dlaunch::output
