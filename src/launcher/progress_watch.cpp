#include "launcher/progress_watch.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"

namespace dlaunch::launcher {

ProgressWatch::ProgressWatch(const plan::Plan& plan, const JobOptions& options, spdlog::logger& log)
    : plan_(plan), options_(options), log_(log), progress_(options.progress_lag) {}

/// Null for the sidecar.
ProgressLines* ProgressWatch::lines(int rank, output::Stream stream) {
  if (rank >= static_cast<int>(plan_.ranks.size())) return nullptr;
  const std::size_t index = static_cast<std::size_t>(rank) * output::kStreams + static_cast<std::size_t>(stream);
  if (index >= lines_.size()) lines_.resize(plan_.ranks.size() * output::kStreams);
  return &lines_[index];
}

void ProgressWatch::fed(int rank, output::Stream stream, std::string_view bytes) {
  if (ProgressLines* const of = lines(rank, stream)) take(rank, of->feed(bytes, options_.progress));
}

void ProgressWatch::ended(int rank, output::Stream stream) {
  if (ProgressLines* const of = lines(rank, stream)) take(rank, of->end(options_.progress));
}

void ProgressWatch::take(int rank, std::optional<std::int64_t> number) {
  if (number) progress_.reached(rank, plan_.rank(rank).app, *number);
}

void ProgressWatch::poll(const std::set<int>& running, bool all_read) {
  for (const job::Laggards& behind : progress_.evaluate(running, all_read, Clock::now())) {
    log_.warn(behind_text(behind, plan_));
  }
}

void ProgressWatch::record(std::vector<job::RankRecord>& ranks) const {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) ranks[rank].progress = of(static_cast<int>(rank));
}

void ProgressWatch::succeeded() const {
  if (options_.progress && plan_.round == 0 && !all())
    log_.warn("--progress: number not found in the output of the ranks");
}

std::string behind_text(const job::Laggards& behind, const plan::Plan& plan) {
  std::set<int> ranks;
  std::vector<std::string> hosts;
  for (const auto& [rank, number] : behind.ranks) {
    ranks.insert(rank);
    const std::string& host = plan.host_of(plan.rank(rank)).host.name;
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
  }
  const std::string median = ", median of all ranks " + std::to_string(behind.median);
  const auto [least, most] = std::ranges::minmax_element(behind.ranks, {}, &std::pair<const int, std::int64_t>::second);
  const std::string who = plan.worlds.fold(ranks) + " (" + fold_names(hosts) + ")";
  std::string numbers = std::to_string(least->second);
  if (least->second != most->second) numbers += " to " + std::to_string(most->second);
  return ranks.size() == 1 ? "rank " + who + " lags: progress " + numbers + median
                           : "ranks " + who + " lag: progress " + numbers + median;
}

}  // namespace dlaunch::launcher
