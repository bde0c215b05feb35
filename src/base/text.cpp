#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace dlaunch {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kShellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

/// Insertions, deletions, changes and swaps of neighbours (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, row);
  }
  return last[b.size()];
}

std::string padded(int number, size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
}

/// A name, split at its last number. The number is in the first label or in an IPv4 address.
struct NumberedName {
  std::string before;
  int number = -1;   ///< none
  size_t width = 0;  ///< width of a number with leading zeros
  std::string after = {};
};

NumberedName numbered_name(const std::string& name) {
  constexpr size_t kMostDigits = 9;
  const bool address = name.find_first_not_of("0123456789.") == std::string::npos;
  const size_t label =
      address || name.find(':') != std::string::npos ? name.size() : std::min(name.find('.'), name.size());
  const size_t end = name.find_last_of("0123456789", label == 0 ? 0 : label - 1);
  if (end == std::string::npos) return {name};
  const size_t before = name.find_last_not_of("0123456789", end);
  const size_t start = before == std::string::npos ? 0 : before + 1;
  const std::string digits = name.substr(start, end + 1 - start);
  if (digits.size() > kMostDigits) return {name};
  const bool zeros = digits.size() > 1 && digits.front() == '0';
  return {name.substr(0, start), std::stoi(digits), zeros ? digits.size() : 0, name.substr(end + 1)};
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t start = 0;;) {
    const size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::optional<long> parse_int(std::string_view text, long min, long max) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < min || value > max) return std::nullopt;
  return value;
}

std::optional<std::set<int>> parse_int_list(std::string_view text, int max) {
  std::set<int> numbers;
  for (const std::string& part : split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_int(std::string_view(part).substr(0, dash), 0, max);
    const auto last = dash == std::string::npos ? first : parse_int(std::string_view(part).substr(dash + 1), 0, max);
    if (!first || !last || *first > *last) return std::nullopt;
    for (long n = *first; n <= *last; ++n) numbers.insert(static_cast<int>(n));
  }
  return numbers;
}

std::string fold_ints(const std::set<int>& numbers) { return fold_ints(numbers, 0); }

std::string fold_ints(const std::set<int>& numbers, size_t width) {
  std::string text;
  for (auto it = numbers.begin(); it != numbers.end();) {
    const int first = *it;
    int last = first;
    while (++it != numbers.end() && *it - 1 == last) last = *it;
    if (!text.empty()) text += ',';
    text += padded(first, width);
    if (last != first) text += '-' + padded(last, width);
  }
  return text;
}

std::string fold_names(const std::vector<std::string>& names) {
  struct Group {
    NumberedName first;
    std::string name;
    std::set<int> numbers;
  };
  std::vector<Group> groups;
  std::map<std::tuple<std::string, std::string, size_t>, size_t> place;
  for (const std::string& name : names) {
    const NumberedName parts = numbered_name(name);
    const auto [known, fresh] = place.emplace(std::tuple(parts.before, parts.after, parts.width), groups.size());
    if (fresh) groups.push_back({parts, name, {}});
    groups[known->second].numbers.insert(parts.number);
  }
  std::string text;
  for (const Group& group : groups) {
    if (!text.empty()) text += ',';
    text += group.numbers.size() == 1
                ? group.name
                : group.first.before + '[' + fold_ints(group.numbers, group.first.width) + ']' + group.first.after;
  }
  return text;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;  // in a typo, at most a third of the word is wrong
  for (const std::string& candidate : known) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string shell_quote(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kShellSafe) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

namespace {

std::string known_fields(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) text += " {" + field + "}";
  return text;
}

Error unknown_field(const std::string& name, const std::vector<std::string>& fields, std::string_view where) {
  const auto close = nearest(name, fields);
  return {.where = std::string(where),
          .what = "unknown field {" + name + "}",
          .why = "",
          .hint = (close ? "use {" + *close + "}, or another field of:" : "use a field of:") + known_fields(fields) +
                  "; {{ is a literal brace"};
}

void add_text(std::vector<Piece>& pieces, std::string_view text) {
  if (text.empty()) return;
  if (pieces.empty() || !pieces.back().field.empty()) pieces.emplace_back();
  pieces.back().text += text;
}

}  // namespace

Result<std::vector<Piece>> parse_template(std::string_view text, const std::vector<std::string>& fields,
                                          std::string_view where) {
  std::vector<Piece> pieces;
  while (!text.empty()) {
    const std::size_t brace = text.find_first_of("{}");
    add_text(pieces, text.substr(0, brace));
    if (brace == std::string_view::npos) break;
    text.remove_prefix(brace);
    if (text[0] == '}' || text.substr(0, 2) == "{{") {
      add_text(pieces, text.substr(0, 1));
      text.remove_prefix(text.size() > 1 && text[1] == text[0] ? 2 : 1);
      continue;
    }
    const std::size_t close = text.find('}');
    if (close == std::string_view::npos) {
      return fail({.where = std::string(where),
                   .what = "'" + std::string(text) + "' has no closing brace",
                   .why = "",
                   .hint = "write {{ for a literal brace"});
    }
    const std::string name(text.substr(1, close - 1));
    if (std::find(fields.begin(), fields.end(), name) == fields.end()) return fail(unknown_field(name, fields, where));
    pieces.push_back({"", name});
    text.remove_prefix(close + 1);
  }
  return pieces;
}

bool has_field(const std::vector<Piece>& pieces, std::string_view field) {
  return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.field == field; });
}

}  // namespace dlaunch
