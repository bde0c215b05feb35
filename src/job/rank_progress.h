// RankProgress: the numbers that ranks write (--progress), and the ranks that lag. PURE. Owned by ProgressWatch.
//
// - Ranks are compared with all ranks of the same program that have written a number, also with ended ranks.
// - A number below half of the previous number starts a new sequence, as steps do in each epoch; counting continues.
// - A rank lags if it stays more than N steps below the median for kSteady. N is --progress-lag, or kStrides times the
//   larger of the rank's last step and the ranks' median step: a rank may write each hundredth step only. No rank
//   lags while some output is not read yet.
// - Each rank is reported once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"

namespace dlaunch::job {

/// Lagging ranks of one program.
struct Laggards {
  std::map<int, std::int64_t> ranks;  ///< rank and its number
  std::int64_t median = 0;            ///< of the numbers of the program's ranks
  bool operator==(const Laggards&) const = default;
};

class RankProgress {
 public:
  static constexpr std::int64_t kMost = std::int64_t{1}
                                        << 53;  ///< JSON's largest exact integer; larger numbers are ignored
  static constexpr int kStrides = 10;
  static constexpr std::chrono::seconds kSteady{2};

  /// `lag`: N; 0: no rank ever lags; none: the default (see above).
  explicit RankProgress(std::optional<std::int64_t> lag) : lag_(lag) {}

  void reached(int rank, int program, std::int64_t number);
  /// Changes when a number of any rank changes.
  std::uint64_t changes() const { return changes_; }
  std::optional<std::int64_t> of(int rank) const;
  /// No value before the first number.
  std::optional<Reached> all() const;

  /// The ranks to report now. Call it regularly. `all_read`: all output is read.
  std::vector<Laggards> evaluate(const std::set<int>& running, bool all_read, Time now);

 private:
  struct Rank {
    std::int64_t number = 0;
    std::int64_t before = 0;  // sum of the last numbers of the earlier sequences
    std::int64_t stride = 0;  // 0: only one number so far
    std::optional<Time> lags_since = {};
    bool reported = false;
    std::int64_t counted() const { return before + number; }
  };
  using Ranks = std::map<int, Rank>;
  Laggards evaluate(Ranks& ranks, const std::set<int>& running, Time now) const;
  std::optional<std::int64_t> limit(const Ranks& ranks) const;

  std::optional<std::int64_t> lag_;
  std::map<int, Ranks> programs_;
  std::map<int, int> program_of_;
  std::uint64_t changes_ = 0;
};

}  // namespace dlaunch::job
