// GroupChannel: prints the lines of each rank, of both streams, as one group in the form of a CI system, whose log
// viewer folds the group (--group-output). A group is printed when the rank ends, is kMostGroupAge old, or has
// kMostGroupBytes; the largest group is printed if all groups together have kMostHeldBytes. Later lines of the rank are
// a new group. Owned by the Screen of stdout.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "output/channel.h"
#include "output/label.h"

namespace dlaunch::output {

inline constexpr std::chrono::seconds kMostGroupAge{60};
inline constexpr std::size_t kMostGroupBytes = 256 * 1024;
inline constexpr std::size_t kMostHeldBytes = 32 * 1024 * 1024;  ///< of all groups

class GroupChannel final : public Channel {
 public:
  /// `token`: GitHub ignores the commands in a group until a line has this text.
  GroupChannel(Writer& writer, ChannelContext& shared, Groups form, std::string token);

  /// Returns the slot of a stream. `id`: the streams with this id have one group.
  int add(const StreamFacts& facts, int id, Prefix prefix);
  /// Prints all groups.
  void show_held();

  bool ready(int) const override { return writer_.pending() <= kQueueLimit; }
  void answered(int, bool) override {}
  void feed(int slot, std::string_view bytes, ReadTime at) override;
  void end(int slot, Time now) override;
  void drained(Time) override {}
  void expire(int slot, Time now) override;

 private:
  struct Group {
    std::string title;
    int open = 0;  // streams
    int printed = 0;
    std::string text = {};  // whole lines
    Time since = {};
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
  };
  struct Slot {
    std::size_t group;
    Prefix prefix;
    std::string partial = {};
  };

  void add_line(Slot& slot, std::string_view line, ReadTime at);
  void print(Group& group);

  Writer& writer_;
  ChannelContext& shared_;
  const Groups form_;
  const std::string token_;
  std::vector<Slot> slots_;
  std::vector<Group> groups_;  // by id
  std::size_t held_ = 0;       // bytes of all texts
  int count_ = 0;              // printed groups
  Timers::Handle timer_;
};

}  // namespace dlaunch::output
