// RankFiles: the files of all ranks, each with a writer and a channel. The disk process (output/disk.h) writes regular
// files. FIFOs and terminals are written from this process, without blocking. Owned by Output.
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
#include "output/hidden_lines.h"
#include "output/output.h"

namespace dlaunch::output {

/// A file for one stream or both streams of a rank, or shared by several ranks.
struct RankFile {
  struct Source {
    int rank = 0;
    Stream stream = Stream::out;
  };
  std::string path;
  std::uint32_t number = 0;  ///< in commands to the disk process
  std::vector<Source> sources = {};
  bool direct = false;                  ///< only the rank writes it
  bool rank_ended = false;              ///< the rank of a `direct` file does not write any more
  std::unique_ptr<Writer> writer = {};  ///< null if the file is `direct` or not created yet
  FdWriter* polled = nullptr;           ///< `writer` of a FIFO or a terminal
  std::unique_ptr<Channel> channel = {};
  int open_streams = 0;
  bool reported = false;   ///< a failure of the file was reported
  bool gave_up = false;    ///< later bytes are dropped
  std::uint64_t size = 0;  ///< of a `direct` file, last known
  std::string tail = {};   ///< of a `direct` file: the last bytes
};

/// The file of a stream, and the stream's slot in the file's channel.
struct FileSlot {
  RankFile* file = nullptr;
  int slot = 0;
};

class RankFiles {
 public:
  /// Starts the disk process. The references must outlive the result.
  static Result<std::unique_ptr<RankFiles>> open(const OutputSettings& settings, const std::vector<RankFacts>& ranks,
                                                 ChannelContext& shared);
  /// Creates and locks the files of all ranks; with OutputSettings::keep_logs, only locks the directory of an earlier
  /// job. Waits, and fails after kCreateWait without progress. Files of an earlier job are unchanged.
  Result<void> claim(const sys::Wait& wait);
  /// Claims the files unless claim() did. Renames the directories of earlier jobs and creates the files, or empties the
  /// files. Call before ranks start. Does not wait: begun() has the result. Call handle_writer_events() for the events.
  void begin(Time now);
  /// nullopt: the disk is still working. An Error after kCreateWait without progress.
  std::optional<Result<void>> begun(Time now);
  /// The step of begin() that the disk has not ended, such as "rename /x/logs".
  std::string step() const;
  /// Removes the files if begun() had no result, and ends their locks. Waits for at most 1 s.
  void close();
  /// As close(), but kills a process that does not exit: later, it could remove directories of the next round.
  void close_round();
  ~RankFiles() { close(); }
  RankFiles(const RankFiles&) = delete;
  RankFiles& operator=(const RankFiles&) = delete;

  /// Describes overwritten files of an earlier job; empty if there were none.
  std::string overwritten() const;

  /// Adds files for the ranks of `ranks` from id `from` on. The files are created in the background, and their streams
  /// are not ready() before that.
  Result<void> add(std::size_t from);

  const FileSlot& slot(int rank, Stream stream) const;
  static bool ready(const FileSlot& slot);
  void feed(const FileSlot& slot, std::string_view bytes, ReadTime at);
  void end(const FileSlot& slot, Time now);
  /// The rank's own files are complete, or were cut: see take_failures().
  void rank_ended(int rank);

  /// The writers with queued bytes.
  std::vector<FdWriter*> waiting();
  void flush(FdWriter& writer, Time now);

  int event_fd() const { return disk_->ended() ? -1 : disk_->event_fd(); }
  void handle_writer_events() { handle(disk_->events()); }
  /// The failures since the last call, at most one per file.
  std::vector<Error> take_failures() { return std::exchange(failures_, {}); }

  /// Call after the end of all streams. Syncs the files of the failed rank to the device.
  void finish(std::optional<int> failed);
  /// Whether no bytes are queued; after finish(), whether all files are also written and closed.
  bool settled() const;
  /// A number that changes while files are written.
  std::uint64_t progress() const;
  /// Drops queued bytes, and later bytes for files that accept no bytes.
  void give_up(Time now);
  /// --console-rate hides the newest lines of the stream.
  void hidden(int rank, Stream stream, std::size_t lines);
  /// The number of hidden lines that no file has; may be too high.
  std::uint64_t lost_lines() const { return hidden_.lost(); }
  /// Whether the rank's file of the stream got all bytes that were fed.
  bool has_all(int rank, Stream stream) const;
  /// An Error about bytes that give_up() dropped; no value if none were dropped.
  std::optional<Error> lost() const;

 private:
  RankFiles(const OutputSettings& settings, const std::vector<RankFacts>& ranks, ChannelContext& shared,
            std::unique_ptr<Disk> disk)
      : settings_(settings), ranks_(ranks), shared_(shared), disk_(std::move(disk)), slots_(ranks.size() * kStreams) {}

  bool renames() const;
  void ask_to_claim();
  void claim_directory(DiskCommand::Kind kind);
  void ask_to_create();
  void add_rank(int rank);
  void add_file(int rank, const std::vector<Stream>& streams);
  void join_file(RankFile& file, int rank, const std::vector<Stream>& streams);
  Error timed_out() const;
  Result<void> await(const std::function<bool()>& done, const sys::Wait& wait);
  void handle(std::vector<Disk::Event> all);
  void created(RankFile& file, Disk::Event& event);
  void created_locked(RankFile& file, Disk::Event& event);
  void make_channel(RankFile& file);
  void check_direct(RankFile& file);
  void fail_file(RankFile& file, Error error);
  void check(RankFile& file);
  void process_ended();
  void drop_uncreated(Time now);
  void close_ended();

  const OutputSettings& settings_;
  const std::vector<RankFacts>& ranks_;
  ChannelContext& shared_;
  std::unique_ptr<Disk> disk_;
  std::vector<std::unique_ptr<RankFile>> files_;        // by number
  std::unordered_map<std::string, RankFile*> by_path_;  // files that ranks of world 1 may share
  std::vector<FileSlot> slots_;
  std::vector<RankFile*> closing_;   // all streams have ended
  std::vector<RankFile*> recorded_;  // channels that may hold lines for the writer
  std::vector<RankFile*> polled_;    // FIFOs and terminals
  std::vector<Error> failures_;
  std::size_t not_claimed_ = 0;  // directories
  std::size_t not_created_ = 0;
  int overwritten_ = 0;               // number of files that had content before
  std::int64_t last_written_ns_ = 0;  // newest modification time of these files
  std::uint64_t lost_ = 0;            // dropped bytes of polled files
  HiddenLines hidden_;
  std::vector<std::string> stuck_;  // paths of the files that did not accept bytes
  Time moved_ = {};                 // the last progress of begin()
  std::uint64_t begin_progress_ = 0;
  bool claimed_ = false;
  bool closed_ = false;
  bool finished_ = false;
  bool emptied_ = false;  // or given up
};

}  // namespace dlaunch::output
