// LineLimit: shows the first lines of each second, and counts the other lines (--console-rate). stdout and stderr have
// separate limits: a flood of stdout does not hide errors. Pure: the time is an argument. Owned by a Screen of Console.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dlaunch/output.h"

namespace dlaunch::output {

inline constexpr std::chrono::seconds kLimitWindow{1};
inline constexpr std::chrono::milliseconds kLimitTick{100};  ///< between calls of take_notes() while lines are hidden

class LineLimit {
 public:
  using Hidden = std::function<void(int id, Stream stream, std::size_t lines)>;

  /// `places`: the files with all lines of each stream. `hidden`: called with hidden lines and their first source.
  LineLimit(int most, std::array<std::string, kStreams> places, Hidden hidden = {})
      : most_(most), places_(std::move(places)), hidden_(std::move(hidden)) {}

  /// Adds the next source: a stream of the rank with this id.
  void add(int id, Stream stream) { sources_.emplace_back(id, stream); }

  /// Whether a unit of `lines` lines may be shown. `sources`: its sources, all of one stream. The first lines of each
  /// second pass. Counts the other lines until take_notes() has reported their number.
  bool admits(std::span<const int> sources, std::size_t lines, Time now);
  bool hides() const { return counts_[0].hidden + counts_[1].hidden > 0; }
  /// One line for each stream whose second is over: "… 12,400 stdout lines of 64 ranks not shown; see /x/logs/1".
  /// Without `now`: for each stream with hidden lines.
  std::string take_notes(std::optional<Time> now = {});
  /// All later lines pass: a file has failed and may lack lines.
  void lift() { lifted_ = true; }

 private:
  struct Count {
    Time since = Time::min();
    std::size_t shown = 0;
    std::uint64_t hidden = 0;
    std::vector<bool> ids = {};  // whose lines are hidden
  };
  std::string note(Stream stream);

  const int most_;
  const std::array<std::string, kStreams> places_;
  const Hidden hidden_;
  std::vector<std::pair<int, Stream>> sources_;  // id, stream
  std::array<Count, kStreams> counts_;
  bool lifted_ = false;
};

}  // namespace dlaunch::output
