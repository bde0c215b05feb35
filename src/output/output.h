// The ranks' output on its way out: lines, labels, files, console. Passive: the launcher feeds it, waits for its fds
// and deadlines, and stops reading a stream that is not ready(): that is the whole back-pressure, so memory stays
// bounded. Owned by the launcher's run; the standard streams must outlive it.
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

/// What labels and file names may say of a rank.
struct RankFacts {
  std::string host;
  int local_rank = 0;
  std::optional<int> device;
  std::string name = {};  ///< of a process that is no rank; such come after all ranks, and have only a stdout
  int world = 1;          ///< as dlaunch/worlds.h counts
  int first = 0;          ///< id of its world's rank 0
  bool local = false;     ///< on the launcher's machine: what it opens by name is the file that the launcher means
};

class Output {
 public:
  /// A line of a stream without its end, or a part of a long one.
  using OnLine = std::function<void(int rank, Stream stream, std::string_view line)>;

  /// Creates the per-rank files (all of them, also of silent ranks) or says which could not be. They are written by a
  /// process of their own, since a disk may hang. `on_line`: hears all that is fed, beside console and files.
  static Result<std::unique_ptr<Output>> open(const OutputSettings& settings, std::vector<RankFacts> ranks,
                                              StandardStreams& streams, OnLine on_line = {});
  ~Output();

  /// What open() overwrote of an earlier job's; empty: nothing.
  std::string overwritten() const;

  /// The ranks of another world, with the next ids. On an Error nothing is added. That a file cannot be made is told
  /// later, as any failure of it.
  Result<void> add(const std::vector<RankFacts>& ranks);

  /// Whether this stream may be fed now. Turns true again only within flush(), tick(), feed() or end(). To be asked
  /// before each read: a partial line of a stream that was told no is not taken for idle.
  bool ready(int rank, Stream stream) const;

  /// `wall_ns`: CLOCK_REALTIME on the rank's host when the bytes were read there.
  void feed(int rank, Stream stream, std::string_view bytes, Time now, std::int64_t wall_ns);

  /// The stream will bring no more. Its last partial line, if any, goes out now.
  void end(int rank, Stream stream, Time now);

  /// Those with bytes waiting: call flush() when poll_fd() of one is writable. Where both fds are one file or terminal,
  /// one stands for both. They live as long as this. Once all streams have ended, nothing waiting means that all is
  /// shown, and on its way to the files.
  std::vector<FdWriter*> waiting() const;
  StandardStreams& streams() const;
  void flush(FdWriter& writer, Time now);

  /// What says how the files fare, -1 without files: take_news() when it is readable. Streams may be ready after it.
  int news_fd() const;
  void take_news();
  /// No stream will bring more. What the rank that failed first wrote is to reach the device.
  void finish_files(std::optional<int> failed);
  /// Nothing of any file is in flight; after finish_files(): and all are closed.
  bool files_settled() const;
  /// Changes while files take bytes.
  std::uint64_t files_progress() const;
  /// What files did not take, and do not take from now on, is dropped, and told once by take_error() when the files are
  /// finished.
  void give_up_files(Time now);

  /// When tick() must be called at the latest, to let go of a partial line (100 ms idle).
  std::optional<Time> deadline() const;
  void tick(Time now);

  /// The first sink that failed, once: a full disk, a closed pipe. Later bytes for that sink are dropped.
  std::optional<Error> take_error();
  /// The reader of stdout went away (EPIPE): a quiet end, as any filter's.
  bool reader_gone() const;

  /// The last stderr lines of a rank (stdout's where stderr is merged into it), at most kLastWords.
  std::vector<std::string> last_words(int rank) const;
  /// All bytes fed, dropped ones included; the file's size where the rank writes it itself.
  std::uint64_t bytes(int rank, Stream stream) const;
  /// Path of the rank's file for this stream; empty without one.
  std::string path(int rank, Stream stream) const;

 private:
  class Impl;
  explicit Output(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

inline constexpr int kLastWords = 10;  ///< lines kept a rank for the failure summary

/// When nobody but the file reads the stream of a local rank (nocopy, no tags in the file), the rank may write the file
/// itself: the absolute path then, else empty. Pure; says what open() would create.
/// `rank` and `ranks`: its number in its world, and that world's size.
std::string direct_path(const OutputSettings& settings, const RankFacts& facts, int rank, int ranks, Stream stream);

}  // namespace dlaunch::output
