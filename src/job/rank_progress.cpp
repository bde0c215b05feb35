#include "job/rank_progress.h"

#include <algorithm>

namespace dlaunch::job {
namespace {

constexpr std::int64_t kMostBefore = std::int64_t{1} << 60;  // sums of two of these do not overflow
constexpr std::int64_t kMostStride = std::int64_t{1} << 50;

/// The upper one of the two in the middle, so that of two ranks the one that is further counts. `values` has some.
template <class T>
T upper_median(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

void RankProgress::reached(int rank, int program, std::int64_t number) {
  if (number < 0 || number > kMost) return;
  program_of_.emplace(rank, program);
  const auto [at, is_new] = programs_[program].try_emplace(rank, Rank{.number = number});
  Rank& known = at->second;
  if (!is_new && known.number == number) return;
  ++changes_;
  if (is_new) return;
  if (number < known.number / 2) known.before = std::min(known.before + known.number, kMostBefore);
  if (number > known.number) known.stride = number - known.number;
  known.number = number;
}

std::optional<std::int64_t> RankProgress::of(int rank) const {
  const auto program = program_of_.find(rank);
  if (program == program_of_.end()) return std::nullopt;
  return programs_.at(program->second).at(rank).number;
}

std::optional<Reached> RankProgress::all() const {
  std::optional<Reached> all;
  for (const auto& [program, ranks] : programs_) {
    for (const auto& [rank, known] : ranks) {
      if (!all) all = Reached{.ranks = 0, .least = known.number, .most = known.number, .last = rank};
      ++all->ranks;
      all->most = std::max(all->most, known.number);
      if (known.number >= all->least) continue;
      all->least = known.number;
      all->last = rank;
    }
  }
  return all;
}

std::vector<Laggards> RankProgress::judge(const std::set<int>& running, bool all_read, Time now) {
  std::vector<Laggards> behind;
  for (auto& [program, ranks] : programs_) {
    if (!all_read) {
      for (auto& [rank, known] : ranks) known.behind_since.reset();
      continue;
    }
    Laggards found = judge(ranks, running, now);
    if (!found.ranks.empty()) behind.push_back(std::move(found));
  }
  return behind;
}

Laggards RankProgress::judge(Ranks& ranks, const std::set<int>& running, Time now) const {
  const std::optional<std::int64_t> limit = this->limit(ranks);
  if (!limit) return {};
  std::vector<std::pair<std::int64_t, std::int64_t>> counted;  // and the number that was written
  for (const auto& [rank, known] : ranks) counted.emplace_back(known.counted(), known.number);
  const auto [median, number] = upper_median(std::move(counted));
  Laggards found{.ranks = {}, .median = number};
  for (auto& [rank, known] : ranks) {
    const std::int64_t own = lag_ ? *limit : std::max(*limit, std::min(known.stride, kMostStride) * kStrides);
    if (known.told || !running.contains(rank) || median - known.counted() < own) {
      known.behind_since.reset();
      continue;
    }
    if (!known.behind_since) known.behind_since = now;
    if (now - *known.behind_since < kSteady) continue;
    known.told = true;
    found.ranks.emplace(rank, known.number);
  }
  return found;
}

/// So many steps below the median is behind; none: nobody is.
std::optional<std::int64_t> RankProgress::limit(const Ranks& ranks) const {
  if (lag_) return *lag_ > 0 ? lag_ : std::nullopt;
  std::vector<std::int64_t> strides;
  for (const auto& [rank, known] : ranks) {
    if (known.stride > 0) strides.push_back(known.stride);
  }
  if (strides.empty()) return std::nullopt;
  return std::min(upper_median(std::move(strides)), kMostStride) * kStrides;
}

}  // namespace dlaunch::job
