// Console: the output that goes to the launcher's own stdout and stderr, and its form (raw, lines, JSON Lines). Owned
// by Output.
#pragma once

#include <memory>
#include <vector>

#include "output/bar_channel.h"
#include "output/channel.h"
#include "output/fold_channel.h"
#include "output/group_channel.h"
#include "output/output.h"
#include "output/standard_streams.h"

namespace dlaunch::output {

/// The launcher's stdout or stderr as a sink of the ranks' output.
struct Screen {
  int fd;
  std::string name;
  FdWriter& writer;
  PartialLines partial_lines;
  std::unique_ptr<Channel> channel;
  std::unique_ptr<LineLimit> limit = {};  ///< --console-rate
  LineChannel* lines = nullptr;           ///< `channel` if it merges lines
  FoldChannel* fold = nullptr;            ///< `channel` if equal lines are folded
  GroupChannel* groups = nullptr;         ///< `channel` with --group-output
  std::unique_ptr<BarChannel> bars = {};  ///< gets the bytes of the ranks in place of `channel`
  bool fed = false;                       ///< got bytes of ranks: a failed write fails the job
  bool reported = false;

  /// The errno of a new failure, once; else 0.
  int new_failure() {
    if (reported || !fed || writer.error() == 0) return 0;
    reported = true;
    return writer.error();
  }
};

/// The console channel of a stream; null if the stream is not shown.
struct ConsoleSlot {
  Channel* channel = nullptr;
  int slot = 0;
  Screen* screen = nullptr;
};

class Console {
 public:
  Console(const OutputSettings& settings, const std::vector<RankFacts>& ranks, StandardStreams& streams,
          ChannelContext& shared);

  /// Adds the ranks from id `from` on. Returns true if slots of earlier ranks changed: a second shown rank ends the raw
  /// form of a single shown rank.
  bool add(const OutputSettings& settings, const std::vector<RankFacts>& ranks, std::size_t from,
           ChannelContext& shared);

  ConsoleSlot slot(int rank, Stream stream) const;

  /// The process of the rank started.
  void set_pid(int rank, int pid);
  /// Prints the lines that --fold holds, and the numbers of the lines that --console-rate hides.
  void show_held();
  /// The same, and prints the groups of --group-output.
  void show_all();
  bool folds() const;
  bool has_folded() const;
  std::string bars() const { return bars_.text(); }
  /// --console-rate ends: a file may lack lines.
  void lift_limits();

  /// One per fd. One for both if they are the same file or terminal, or if all output goes to stdout.
  std::vector<std::unique_ptr<Screen>>& screens() { return screens_; }
  const std::vector<std::unique_ptr<Screen>>& screens() const { return screens_; }

 private:
  void make_line_channel(const OutputSettings& settings, const std::vector<RankFacts>& ranks, Screen& screen,
                         ChannelContext& shared);
  void add_rank(const OutputSettings& settings, const RankFacts& facts, std::size_t id, int world_size);
  void make_lines(const OutputSettings& settings, const std::vector<RankFacts>& ranks, std::size_t before,
                  ChannelContext& shared);

  StandardStreams& streams_;
  Bars bars_;
  std::vector<std::unique_ptr<Screen>> screens_;
  std::vector<ConsoleSlot> slots_;
};

}  // namespace dlaunch::output
