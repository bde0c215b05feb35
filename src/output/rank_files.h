// The per-rank files: one writer and one channel each. Files are the disk process's (output/disk.h); a FIFO or terminal
// is written from here, without waiting. Owned by Output.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"
#include "output/channel.h"
#include "output/disk.h"
#include "output/output.h"

namespace dlaunch::output {

/// One rank's file: of one stream, or of both.
struct RankFile {
  std::string path;
  std::uint32_t number = 0;  ///< on the disk
  int rank = 0;
  std::vector<Stream> streams = {};
  bool direct = false;                  ///< only the rank writes it
  std::unique_ptr<Writer> writer = {};  ///< none: `direct`, or not created yet
  FdWriter* waited_for = nullptr;       ///< `writer`, where it is a FIFO or a terminal
  std::unique_ptr<Channel> channel = {};
  int open_streams = 0;
  bool told = false;       ///< that it failed
  bool gave_up = false;    ///< what comes for it is dropped
  std::uint64_t size = 0;  ///< direct: when it was looked at
  std::string tail = {};   ///< direct: its last bytes
};

/// Where one stream is written: a file and its slot there.
struct FileSlot {
  RankFile* file = nullptr;
  int slot = 0;
};

class RankFiles {
 public:
  /// Creates the files of all ranks, also of silent ones; bounded. `settings`, `ranks` and `shared` must outlive it.
  static Result<std::unique_ptr<RankFiles>> create(const OutputSettings& settings, const std::vector<RankFacts>& ranks,
                                                   ChannelContext& shared);

  /// What of an earlier job is no more; empty: nothing.
  std::string overwritten() const;

  /// Those of the ranks from this id on, which are in `ranks` now. They are created while the job goes on, and are
  /// not ready() until then.
  Result<void> add(std::size_t from);

  const FileSlot& slot(int rank, Stream stream) const;
  static bool ready(const FileSlot& slot);
  void feed(const FileSlot& slot, std::string_view bytes, At at);
  void end(const FileSlot& slot, Time now);

  /// Those with bytes waiting.
  std::vector<FdWriter*> waiting();
  void flush(FdWriter& writer, Time now);

  int news_fd() const { return disk_->ended() ? -1 : disk_->news_fd(); }
  void take_news() { take(disk_->news()); }
  /// What has failed since, once a file.
  std::vector<Error> take_failures() { return std::exchange(failures_, {}); }

  /// No stream will bring more. The files of a rank that failed are to reach the device.
  void finish(std::optional<int> failed);
  /// Nothing is in flight; after finish(): and all is written and closed.
  bool settled() const;
  /// Changes while files take bytes.
  std::uint64_t progress() const;
  /// Whatever is in flight, and what still comes for where it was stuck, is lost.
  void give_up(Time now);
  /// What was lost so; none: nothing.
  std::optional<Error> lost() const;

 private:
  RankFiles(const OutputSettings& settings, const std::vector<RankFacts>& ranks, ChannelContext& shared,
            std::unique_ptr<Disk> disk)
      : settings_(settings), ranks_(ranks), shared_(shared), disk_(std::move(disk)), slots_(ranks.size() * kStreams) {}

  void rotate();
  void add_rank(int rank);
  void add_file(int rank, std::vector<Stream> streams);
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
  std::vector<std::unique_ptr<RankFile>> files_;  // by their number
  std::vector<FileSlot> slots_;
  std::vector<RankFile*> closing_;   // their streams have ended
  std::vector<RankFile*> recorded_;  // have lines that may wait for the writer
  std::vector<RankFile*> polled_;    // FIFOs and terminals
  std::vector<Error> failures_;
  std::size_t not_created_ = 0;
  int overwritten_ = 0;               // files that had something in them
  std::int64_t last_written_ns_ = 0;  // of these
  std::uint64_t lost_ = 0;            // bytes of polled files that were given up
  std::string stuck_;                 // the path of the file that was, last
  bool finished_ = false;
};

}  // namespace dlaunch::output
