// FoldChannel: a LineChannel that prints equal lines of several streams once, with the ranks of all of them (--fold). A
// Folder holds complete lines for at most kFoldDelay. A line that goes to the sink in parts comes after all held lines.
// Owned by a Screen of Console.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "output/fold.h"
#include "output/record_channel.h"

namespace dlaunch::output {

/// The lines of a larger read may be too many for a Folder.
inline constexpr std::size_t kMostFolded = 64 * 1024;

class FoldChannel final : public LineChannel {
 public:
  /// The prefix of a line with several writers.
  using MakePrefix = std::function<Prefix(Writers)>;

  FoldChannel(Writer& writer, ChannelContext& shared, PartialLines partial_lines, Fold level, MakePrefix make_prefix);

  /// Returns the slot of the stream.
  int add(const StreamFacts& facts, Prefix prefix);
  void set_pid(int slot, int pid) { folder_.set_pid(slot, pid); }
  bool ready(int slot) const override { return RecordChannel::ready(slot) && !folder_.must_wait(slot, shared_.now); }
  void answered(int slot, bool ready) override;
  void show_held() override;
  /// Whether lines are held to find equal ones.
  bool folds() const { return folder_.folds(shared_.now); }
  /// Whether a line of several streams was printed.
  bool has_folded() const { return !last_sources_.empty(); }
  void expire(int slot, Time now) override;

 private:
  Progress label_records(Slot& slot, std::string_view bytes, ReadTime at) override;
  void write_started(Slot& slot, std::string_view more) override;
  void end_held(Slot& slot, std::string_view more, ReadTime at) override;
  void finish(Slot& slot) override;

  void keep_order(const Slot& slot);
  void show_units();
  void show(const FoldedUnit& unit);
  Prefix& prefix_of(const FoldedUnit& unit);
  void watch(Time now);

  Folder folder_;
  const MakePrefix make_prefix_;
  std::deque<StreamFacts> facts_;                               // by slot
  std::map<std::tuple<int, Stream, std::string>, int> groups_;  // by world, stream, and name of the sidecar
  std::vector<int> last_sources_;  // of the last line with several writers: the next one often has the same writers
  Prefix last_prefix_;
  Timers::Handle timer_;
};

}  // namespace dlaunch::output
