// The per-rank files, each with a writer and a channel. The disk process writes files (output/disk.h); a FIFO or a
// terminal is written from here, without waiting. Owned by Output.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"
#include "output/channel.h"
#include "output/disk.h"
#include "output/output.h"

namespace dlaunch::output {

/// The file of one rank, for one of its streams or for both, or of several ranks.
struct RankFile {
  struct Source {
    int rank = 0;
    Stream stream = Stream::out;
  };
  std::string path;
  std::uint32_t number = 0;  ///< number in the disk process's commands
  std::vector<Source> sources = {};
  bool direct = false;                  ///< only the rank writes it
  std::unique_ptr<Writer> writer = {};  ///< none when the file is `direct` or was not created yet
  FdWriter* waited_for = nullptr;       ///< `writer`, where it is a FIFO or a terminal
  std::unique_ptr<Channel> channel = {};
  int open_streams = 0;
  bool told = false;       ///< its failure was reported
  bool gave_up = false;    ///< further bytes for it are dropped
  std::uint64_t size = 0;  ///< for `direct`: when it was last examined
  std::string tail = {};   ///< for `direct`: its last bytes
};

/// The file to which a stream is written, and its slot there.
struct FileSlot {
  RankFile* file = nullptr;
  int slot = 0;
};

class RankFiles {
 public:
  /// Creates the files of all ranks, silent ones included; bounded in time. The references must outlive the result.
  static Result<std::unique_ptr<RankFiles>> create(const OutputSettings& settings, const std::vector<RankFacts>& ranks,
                                                   ChannelContext& shared);

  /// Describes an earlier job's files that were overwritten; empty: none.
  std::string overwritten() const;

  /// Adds the files of the ranks from this id on, which `ranks` has now. They are created while the job goes on, and
  /// are not ready() before.
  Result<void> add(std::size_t from);

  const FileSlot& slot(int rank, Stream stream) const;
  static bool ready(const FileSlot& slot);
  void feed(const FileSlot& slot, std::string_view bytes, ReadTime at);
  void end(const FileSlot& slot, Time now);

  /// The writers with bytes waiting.
  std::vector<FdWriter*> waiting();
  void flush(FdWriter& writer, Time now);

  int news_fd() const { return disk_->ended() ? -1 : disk_->news_fd(); }
  void handle_writer_events() { take(disk_->news()); }
  /// The failures since the last call, one for each file at most.
  std::vector<Error> take_failures() { return std::exchange(failures_, {}); }

  /// All streams have ended. The files of a rank that failed are synced to the device.
  void finish(std::optional<int> failed);
  /// Nothing is in flight; after finish(), all is written and closed as well.
  bool settled() const;
  /// A number that changes while files take bytes.
  std::uint64_t progress() const;
  /// Drops what is in flight, and what still comes for files that were stuck.
  void give_up(Time now);
  /// An Error about what was dropped so; none when nothing was.
  std::optional<Error> lost() const;

 private:
  RankFiles(const OutputSettings& settings, const std::vector<RankFacts>& ranks, ChannelContext& shared,
            std::unique_ptr<Disk> disk)
      : settings_(settings), ranks_(ranks), shared_(shared), disk_(std::move(disk)), slots_(ranks.size() * kStreams) {}

  void rotate();
  void add_rank(int rank);
  void add_file(int rank, const std::vector<Stream>& streams);
  void join_file(RankFile& file, int rank, const std::vector<Stream>& streams);
  Result<void> await_created();
  void take(std::vector<Disk::News> all);
  void created(RankFile& file, Disk::News& news);
  void make_channel(RankFile& file);
  void fail_file(RankFile& file, Error error);
  void check(RankFile& file);
  void process_ended();
  void drop_uncreated();
  void close_ended();

  const OutputSettings& settings_;
  const std::vector<RankFacts>& ranks_;
  ChannelContext& shared_;
  std::unique_ptr<Disk> disk_;
  std::vector<std::unique_ptr<RankFile>> files_;        // by their number
  std::unordered_map<std::string, RankFile*> by_path_;  // those that ranks of world 1 may share
  std::vector<FileSlot> slots_;
  std::vector<RankFile*> closing_;   // their streams have ended
  std::vector<RankFile*> recorded_;  // have lines that may wait for the writer
  std::vector<RankFile*> polled_;    // those that are FIFOs and terminals
  std::vector<Error> failures_;
  std::size_t not_created_ = 0;
  int overwritten_ = 0;               // number of files that had content before
  std::int64_t last_written_ns_ = 0;  // time of the last write to these
  std::uint64_t lost_ = 0;            // bytes of polled files that were given up
  std::string stuck_;                 // path of the one that was stuck last
  bool finished_ = false;
};

}  // namespace dlaunch::output
