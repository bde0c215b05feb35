#include "hangs/progress_watch.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace dlaunch::hangs {
namespace {

using std::string_view;

/// Removes the text after the last `end`, and the `end`, from the back of `bytes`, and returns the text.
string_view take_last(string_view& bytes, char end) {
  const void* const at = bytes.empty() ? nullptr : ::memrchr(bytes.data(), end, bytes.size());
  const std::size_t before = at ? static_cast<std::size_t>(static_cast<const char*>(at) - bytes.data()) : 0;
  const string_view last = bytes.substr(at ? before + 1 : 0);
  bytes = bytes.substr(0, before);
  return last;
}

std::size_t behind_last_end(string_view bytes) {
  const std::size_t newline = bytes.rfind('\n');
  const std::size_t from = newline == string_view::npos ? 0 : newline + 1;
  const std::size_t carriage_return = bytes.substr(from).rfind('\r');
  return carriage_return == string_view::npos ? from : from + carriage_return + 1;
}

/// The part of a line to search. Drops a number cut at the limit, because the cut number would be wrong.
string_view beginning(string_view line) {
  if (line.size() <= ProgressLines::kLongest) return line;
  line = line.substr(0, ProgressLines::kLongest);
  return line.substr(0, line.find_last_not_of("0123456789") + 1);
}

std::optional<std::int64_t> read_line(string_view line, const ProgressLines::Read& read) {
  return line.empty() ? std::nullopt : read(beginning(line));
}

}  // namespace

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

std::optional<std::int64_t> ProgressLines::feed(string_view bytes, const Read& read) {
  const std::size_t ended = behind_last_end(bytes);
  const auto add = [](std::string& line, string_view more) {
    if (line.size() < kKept) line += more.substr(0, kKept - line.size());
  };
  std::string first;
  if (ended > 0) {  // the first line of `bytes` began earlier
    first = std::exchange(begun_, {});
    add(first, bytes.substr(0, bytes.find_first_of("\r\n")));
  }
  add(begun_, bytes.substr(ended));
  string_view lines = bytes.substr(0, ended);
  const auto* const first_line = lines.data();
  while (!lines.empty()) {
    string_view line = take_last(lines, '\n');
    while (!line.empty()) {
      const string_view part = take_last(line, '\r');
      if (part.data() == first_line) break;
      if (const auto progress = read_line(part, read)) return progress;
    }
  }
  return read_line(first, read);
}

std::optional<std::int64_t> ProgressLines::end(const Read& read) { return read_line(std::exchange(begun_, {}), read); }

}  // namespace dlaunch::hangs
