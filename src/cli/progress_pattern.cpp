#include "cli/progress_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

#include "plan/table.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr std::int64_t kMemory = 1 << 20;  // of RE2's automata; RE2 discards states beyond this limit
constexpr size_t kShown = 200;             // columns of a pattern, and of RE2's message about the pattern
constexpr const char* kExample = "write a regular expression for RE2, such as 'step (\\d+)'";

RE2::Options bounded() {
  RE2::Options options(RE2::Latin1);  // bytes: a line may be invalid UTF-8
  options.set_log_errors(false);
  options.set_max_mem(kMemory);
  return options;
}

/// The first whole number in the text.
std::optional<std::int64_t> number_in(string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto* const begin = std::ranges::find_if(text, is_digit);
  std::int64_t number = 0;
  const auto read = std::from_chars(begin, text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> last_number(const RE2& pattern, string_view line) {
  const re2::StringPiece text(line.data(), line.size());
  const int groups = 1 + pattern.NumberOfCapturingGroups();
  std::optional<std::int64_t> last;
  std::size_t at = 0;
  for (int i = 0; i < kMostProgressMatches && at <= text.size(); ++i) {
    std::array<re2::StringPiece, 2> found;
    if (!pattern.Match(text, at, text.size(), RE2::UNANCHORED, found.data(), groups)) break;
    const re2::StringPiece& part = found.at(static_cast<std::size_t>(groups - 1));
    const bool negative = groups == 2 && part.starts_with("-");
    if (const auto number = number_in({part.data(), part.size()}); number && !negative) last = number;
    const auto end = static_cast<std::size_t>(found[0].data() - text.data()) + found[0].size();
    at = found[0].empty() ? end + 1 : end;
  }
  return last;
}

}  // namespace

Result<std::function<std::optional<std::int64_t>(string_view line)>> progress_pattern(string_view text) {
  const auto wrong = [&](const std::string& why) {
    return fail({.where = "",
                 .what = "invalid pattern \"" + plan::shorten(text, kShown) + '"',
                 .why = plan::shorten(why, kShown),
                 .hint = kExample});
  };
  if (text.empty()) return wrong("expected a pattern that is not empty");
  const auto pattern = std::make_shared<const RE2>(re2::StringPiece(text.data(), text.size()), bounded());
  if (!pattern->ok()) return wrong(pattern->error());
  if (pattern->NumberOfCapturingGroups() > 1) {
    return wrong("expected at most one group, found " + std::to_string(pattern->NumberOfCapturingGroups()) +
                 "; (?:…) does not count");
  }
  return [pattern](string_view line) { return last_number(*pattern, line); };
}

}  // namespace dlaunch::cli
