// How far each rank is by the numbers that it writes (--progress), and which ranks are behind the others. PURE.
//
// - Ranks are compared with those of the same program that have written a number, too, ended ones included.
// - A number below half of the last one begins anew, as steps do in each epoch; it counts on from there.
// - A rank is behind when it is so many steps below the median, and that for kSteady: as many as was asked for, or
//   kStrides times what it, and the median of the ranks, advanced last: a rank may write each hundredth step only.
//   While not all output is read nobody is behind.
// - Each rank is told of once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"

namespace dlaunch::job {

/// Ranks of one program that are behind.
struct Laggards {
  std::map<int, std::int64_t> ranks;  ///< the number of each
  std::int64_t median = 0;            ///< a number of the program's ranks: half of them are there, or further
  bool operator==(const Laggards&) const = default;
};

class RankProgress {
 public:
  static constexpr std::int64_t kMost = std::int64_t{1} << 53;  ///< what JSON's readers take; beyond is no progress
  static constexpr int kStrides = 10;
  static constexpr std::chrono::seconds kSteady{2};

  /// `lag`: how many steps; 0: nobody is ever behind; none: by what is usual.
  explicit RankProgress(std::optional<std::int64_t> lag) : lag_(lag) {}

  void reached(int rank, int program, std::int64_t number);
  /// Changes when a rank's number does.
  std::uint64_t changes() const { return changes_; }
  std::optional<std::int64_t> of(int rank) const;
  /// None before the first number.
  std::optional<Reached> all() const;

  /// The ranks that are to be told of now. To be asked all the time. `all_read`: all output is read.
  std::vector<Laggards> judge(const std::set<int>& running, bool all_read, Time now);

 private:
  struct Rank {
    std::int64_t number = 0;
    std::int64_t before = 0;  // what was counted when it began anew
    std::int64_t stride = 0;  // 0: it has only one number
    std::optional<Time> behind_since = {};
    bool told = false;
    std::int64_t counted() const { return before + number; }
  };
  using Ranks = std::map<int, Rank>;
  Laggards judge(Ranks& ranks, const std::set<int>& running, Time now) const;
  std::optional<std::int64_t> limit(const Ranks& ranks) const;

  std::optional<std::int64_t> lag_;
  std::map<int, Ranks> programs_;
  std::map<int, int> program_of_;
  std::uint64_t changes_ = 0;
};

}  // namespace dlaunch::job
