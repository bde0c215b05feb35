#include "report/rank_results.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "report/lines.h"

namespace dlaunch::report {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr size_t kLongestLine = 60;  // of the last line in the table

RankResult::Kind kind_of(const job::RankRecord& record) {
  if (record.status && record.status->ok()) return RankResult::Kind::succeeded;
  return record.status && !record.ended_by_us ? RankResult::Kind::failed : RankResult::Kind::stopped;
}

std::string end_of(const job::RankRecord& record) {
  if (!record.status) return record.pid == 0 ? "not started" : "unknown exit status";
  return record.status->describe() + (record.ended_by_us ? ", stopped" : "");
}

std::string last_line(const RankResult& result) { return result.lines.empty() ? "" : printable(result.lines.back()); }

/// Replaces each of these characters by its text.
std::string replaced(std::string_view text, const std::vector<std::pair<char, std::string_view>>& by) {
  std::string result;
  for (const char c : text) {
    const auto found = std::ranges::find(by, c, &std::pair<char, std::string_view>::first);
    found == by.end() ? result += c : result += found->second;
  }
  return result;
}

}  // namespace

std::vector<RankResult> rank_results(const plan::Plan& plan, const job::Outcome& outcome, const LastWords& last_words) {
  std::vector<RankResult> results;
  for (size_t i = 0; i < outcome.ranks.size(); ++i) {
    const job::RankRecord& record = outcome.ranks[i];
    const int rank = static_cast<int>(i);
    const bool timed = record.start_ns > 0 && record.end_ns > record.start_ns;
    results.push_back({.kind = kind_of(record),
                       .rank = plan.worlds.name(rank),
                       .host = plan.host_of(plan.rank(rank)).host.name,
                       .end = end_of(record),
                       .seconds = timed ? static_cast<double>(record.end_ns - record.start_ns) * kNanosecond : 0,
                       .lines = last_words(rank, kind_of(record) == RankResult::Kind::failed)});
  }
  return results;
}

std::string results_table(const std::vector<RankResult>& results) {
  std::vector<std::array<std::string, 4>> rows = {{"rank", "host", "end", "time"}};
  std::array<size_t, 4> widths{};
  for (const RankResult& result : results) {
    rows.push_back({result.rank, printable(result.host), printable(result.end), formatted("%.1f s", result.seconds)});
  }
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string line;
    for (size_t column = 0; column < widths.size(); ++column) {
      line += rows[i][column] + std::string(widths[column] - rows[i][column].size() + 2, ' ');
    }
    line += i == 0 ? "last line" : cut_to(last_line(results[i - 1]), kLongestLine);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

std::string results_junit(const std::vector<RankResult>& results, double seconds, std::string_view cause) {
  const auto of_kind = [&](RankResult::Kind kind) {
    return std::to_string(std::ranges::count(results, kind, &RankResult::kind));
  };
  std::string cases;
  for (const RankResult& result : results) {
    cases += "  <testcase classname=\"" + xml(result.host) + "\" name=\"rank " + xml(result.rank) + "\" time=\"" +
             formatted("%.3f", result.seconds) + '"';
    if (result.kind == RankResult::Kind::succeeded) {
      cases += "/>\n";
    } else if (result.kind == RankResult::Kind::stopped) {
      cases += ">\n    <skipped message=\"" + xml(result.end) + "\"/>\n  </testcase>\n";
    } else {
      cases += ">\n    <failure message=\"" + xml(result.end) + "\">";
      for (const std::string& line : result.lines) cases += xml(line) + '\n';
      cases += "</failure>\n  </testcase>\n";
    }
  }
  const bool is_error = !cause.empty() && std::ranges::count(results, RankResult::Kind::failed, &RankResult::kind) == 0;
  if (is_error) {
    cases +=
        "  <testcase classname=\"dlaunch\" name=\"job\">\n    <error message=\"" + xml(cause) + "\"/>\n  </testcase>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"dlaunch\" tests=\"" +
         std::to_string(results.size() + (is_error ? 1 : 0)) + "\" errors=\"" + (is_error ? "1" : "0") +
         "\" failures=\"" + of_kind(RankResult::Kind::failed) + "\" skipped=\"" + of_kind(RankResult::Kind::stopped) +
         "\" time=\"" + formatted("%.3f", seconds) + "\">\n" + cases + "</testsuite>\n";
}

std::string github_error(std::string_view title, std::string_view text) {
  const std::vector<std::pair<char, std::string_view>> of_text = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}};
  std::vector<std::pair<char, std::string_view>> of_title = of_text;
  of_title.insert(of_title.end(), {{':', "%3A"}, {',', "%2C"}});
  return "::error title=" + replaced(title, of_title) + "::" + replaced(text, of_text) + '\n';
}

}  // namespace dlaunch::report
