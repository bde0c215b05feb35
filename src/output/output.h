// The ranks' output on its way out: lines, labels, files, console. Passive: the launcher feeds it, waits for its fds
// and deadlines, and does not read a stream that is not ready(). That is all of the back-pressure, and it bounds
// memory. Owned by the launcher's run; the standard streams must outlive it.
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

/// What labels and file names can say of a rank.
struct RankFacts {
  std::string host;
  int local_rank = 0;
  std::optional<int> device;
  std::string name = {};  ///< of the sidecar, which comes after all ranks and has only a stdout; empty for a rank
  int world = 1;          ///< numbered as in dlaunch/worlds.h
  int first = 0;          ///< id of its world's rank 0
  bool local = false;     ///< on the launcher's machine, so that a path means the same file there
  std::optional<int> round = {};  ///< of a job that may be restarted
  int attempt = 0;                ///< how often the job was queued again before
};

/// The last lines of one stream of a rank.
struct LastLines {
  std::vector<std::string> lines = {};
  std::string stream = "stderr";  ///< "stderr", "stdout", or "output" if both streams are one
  std::string path = {};          ///< the rank's file of the stream; empty without a file
};

class Output {
 public:
  /// A line of a stream without its newline, or a part of a long one.
  using OnLine = std::function<void(int rank, Stream stream, std::string_view line)>;

  /// Creates the files of all ranks, silent ones included, or returns which could not be created. A process of its own
  /// writes them, because a disk may hang. `on_line` gets all that is fed, in addition to console and files.
  static Result<std::unique_ptr<Output>> open(const OutputSettings& settings, std::vector<RankFacts> ranks,
                                              StandardStreams& streams, OnLine on_line = {});
  ~Output();

  /// Describes an earlier job's files that open() overwrote; empty: none.
  std::string overwritten() const;

  /// Adds the ranks of another world, with the next ids; none on an Error. A file that cannot be created is reported
  /// later, as every failure of a file.
  Result<void> add(const std::vector<RankFacts>& ranks);

  /// Whether this stream may be fed now. It becomes true again only within flush(), tick(), feed() or end(). To be
  /// asked before each read: a partial line of a stream that may not be read is not idle.
  bool ready(int rank, Stream stream) const;

  /// `wall_ns` is CLOCK_REALTIME on the rank's host when the bytes were read there.
  void feed(int rank, Stream stream, std::string_view bytes, Time now, std::int64_t wall_ns);

  /// The stream has ended. A last partial line is written now.
  void end(int rank, Stream stream, Time now);

  /// The writers with bytes waiting: call flush() when poll_fd() of one is writable. Where both fds are one file or
  /// terminal, one writer stands for both. They live as long as this object. Once all streams have ended and none is
  /// waiting, everything is shown, or on its way to the files.
  std::vector<FdWriter*> waiting() const;
  StandardStreams& streams() const;
  void flush(FdWriter& writer, Time now);

  /// The fd that reports on the files, or -1. When it is readable call handle_writer_events(), after which streams may
  /// be ready.
  int news_fd() const;
  void handle_writer_events();
  /// All streams have ended. The files of the rank that failed first are synced to the device.
  void finish_files(std::optional<int> failed);
  /// Nothing is in flight to any file; after finish_files(), all are closed as well.
  bool files_settled() const;
  /// A number that changes while files take bytes.
  std::uint64_t files_progress() const;
  /// Drops what files have not taken, and all that follows for them. take_error() reports it once, when the files are
  /// finished.
  void give_up_files(Time now);

  /// When tick() must be called at the latest, to write a partial line (100 ms idle).
  std::optional<Time> deadline() const;
  void tick(Time now);

  /// The first sink that failed, once: a full disk, a closed pipe. Later bytes for that sink are dropped.
  std::optional<Error> take_error();
  /// The reader of stdout went away (EPIPE), which ends the job quietly, as it ends a filter.
  bool reader_gone() const;

  /// The last lines of a rank's stderr, at most kLastLines. If stderr has only white space: the last lines of stdout.
  LastLines last_lines(int rank) const;
  /// All bytes that were fed, dropped ones included; the file's size where the rank writes it itself.
  std::uint64_t bytes(int rank, Stream stream) const;
  /// The path of the rank's file for this stream; empty without one.
  std::string path(int rank, Stream stream) const;

 private:
  class Impl;
  explicit Output(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

inline constexpr int kLastLines = 10;  ///< lines of a rank in the failure summary

/// The absolute path of the file that a local rank may write itself, because nothing else reads the stream (nocopy, no
/// tags in the file); else empty. Pure; the answer is what open() does. `rank` is the number in the world, `ranks` that
/// world's size.
std::string direct_path(const OutputSettings& settings, const RankFacts& facts, int rank, int ranks, Stream stream);

}  // namespace dlaunch::output
