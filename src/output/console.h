// Which part of the output reaches the launcher's own stdout and stderr, and in which form. Owned by Output.
#pragma once

#include <memory>
#include <vector>

#include "output/channel.h"
#include "output/output.h"
#include "output/standard_streams.h"

namespace dlaunch::output {

/// One of our standard streams as a sink of the ranks' output.
struct Screen {
  int fd;
  std::string name;
  FdWriter& writer;
  std::unique_ptr<Channel> channel;
  bool fed = false;  ///< it got bytes of ranks, so that failing to write them fails the job
  bool told = false;

  /// The errno of a failure that was not yet reported, else 0.
  int new_failure() {
    if (told || !fed || writer.error() == 0) return 0;
    told = true;
    return writer.error();
  }
};

/// Where one stream is shown; nowhere when `channel` is null.
struct ConsoleSlot {
  Channel* channel = nullptr;
  int slot = 0;
  Screen* screen = nullptr;
};

class Console {
 public:
  Console(const OutputSettings& settings, const std::vector<RankFacts>& ranks, StandardStreams& streams,
          ChannelContext& shared);

  /// Adds the ranks from this id on. True when slots of earlier ranks changed, because the only rank that was shown is
  /// not the only one any more.
  bool add(const OutputSettings& settings, const std::vector<RankFacts>& ranks, std::size_t from,
           ChannelContext& shared);

  ConsoleSlot slot(int rank, Stream stream) const;

  /// One for each fd, or one for both when they are the same file or terminal, or when all goes to stdout.
  std::vector<std::unique_ptr<Screen>>& screens() { return screens_; }
  const std::vector<std::unique_ptr<Screen>>& screens() const { return screens_; }

 private:
  void add_rank(const OutputSettings& settings, const RankFacts& facts, std::size_t id, int world_size);
  void make_lines(const OutputSettings& settings, const std::vector<RankFacts>& ranks, std::size_t before,
                  ChannelContext& shared);

  std::vector<std::unique_ptr<Screen>> screens_;
  std::vector<ConsoleSlot> slots_;
};

}  // namespace dlaunch::output
