// The per-rank files: their creation, one writer and one channel each. Owned by Output.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "output/channel.h"
#include "output/output.h"
#include "output/sink.h"

namespace dlaunch::output {

/// One rank's file: of one stream, or of both.
struct RankFile {
  std::string path;
  std::optional<Sink> sink;  ///< none while only the rank itself writes the file
  std::unique_ptr<Channel> channel;
  int open_streams = 0;
};

/// Where one stream is written: a file and its slot there.
struct FileSlot {
  RankFile* file = nullptr;
  int slot = 0;
};

class RankFiles {
 public:
  /// Creates the files of all ranks, also of silent ones. `settings`, `ranks` and `shared` must outlive it.
  static Result<std::unique_ptr<RankFiles>> create(const Settings& settings, const std::vector<RankFacts>& ranks,
                                                   Shared& shared);

  /// Those of the ranks from this id on, which are in `ranks` now. On an Error no more files are open than before.
  Result<void> add(std::size_t from);

  FileSlot slot(int rank, Stream stream) const;

  /// Opens the file of a stream that the rank was to write itself, but that came to us.
  void open_late(RankFile& file);

 private:
  RankFiles(const Settings& settings, const std::vector<RankFacts>& ranks, Shared& shared)
      : settings_(settings), ranks_(ranks), shared_(shared), slots_(ranks.size() * kStreams) {}

  Result<void> create_rank(int rank);
  Result<RankFile*> create_file(int rank, Stream stream);
  std::unique_ptr<Channel> make_channel(RankFile& file, int rank, const std::vector<Stream>& streams);

  const Settings& settings_;
  const std::vector<RankFacts>& ranks_;
  Shared& shared_;
  std::vector<std::unique_ptr<RankFile>> files_;
  std::vector<FileSlot> slots_;
};

}  // namespace dlaunch::output
