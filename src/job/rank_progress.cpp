#include "job/rank_progress.h"

#include <algorithm>

namespace dlaunch::job {
namespace {

constexpr std::int64_t kMostBefore = std::int64_t{1} << 60;  // sums of two of these do not overflow
constexpr std::int64_t kMostStride = std::int64_t{1} << 50;

/// The upper of the two middle values, so that with two ranks the faster one counts. `values` is not empty.
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

std::vector<Laggards> RankProgress::evaluate(const std::set<int>& running, bool all_read, Time now) {
  std::vector<Laggards> lagging;
  for (auto& [program, ranks] : programs_) {
    if (!all_read) {
      for (auto& [rank, known] : ranks) known.lags_since.reset();
      continue;
    }
    Laggards found = evaluate(ranks, running, now);
    if (!found.ranks.empty()) lagging.push_back(std::move(found));
  }
  return lagging;
}

Laggards RankProgress::evaluate(Ranks& ranks, const std::set<int>& running, Time now) const {
  const std::optional<std::int64_t> limit = this->limit(ranks);
  if (!limit) return {};
  std::vector<std::pair<std::int64_t, std::int64_t>> counted;  // with the number as written
  for (const auto& [rank, known] : ranks) counted.emplace_back(known.counted(), known.number);
  const auto [median, number] = upper_median(std::move(counted));
  Laggards found{.ranks = {}, .median = number};
  for (auto& [rank, known] : ranks) {
    const std::int64_t own = lag_ ? *limit : std::max(*limit, std::min(known.stride, kMostStride) * kStrides);
    if (known.reported || !running.contains(rank) || median - known.counted() < own) {
      known.lags_since.reset();
      continue;
    }
    if (!known.lags_since) known.lags_since = now;
    if (now - *known.lags_since < kSteady) continue;
    known.reported = true;
    found.ranks.emplace(rank, known.number);
  }
  return found;
}

/// The number of steps below the median from which a rank lags; none: no rank lags.
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
