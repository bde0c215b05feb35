#include "hosts/host_name.h"

#include <algorithm>

#include "base/ip_address.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"

namespace dlaunch::hosts {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
constexpr std::string_view kUserCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+@";
constexpr size_t kLongestName = 253;  // the limit of DNS; also limits the length of errors
constexpr long kLastNumber = 999'999'999;

bool only(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

tl::unexpected<Error> invalid(std::string_view kind, std::string_view text, std::string_view expected) {
  return fail(invalid_value(kind, text.substr(0, kLongestName), expected));
}

tl::unexpected<Error> too_many(std::string_view pattern) {
  return fail({"", "too many hosts in \"" + std::string(pattern.substr(0, kLongestName)) + '"',
               "the limit is " + std::to_string(kMostHosts), "use smaller ranges in the brackets"});
}

/// Expands the content of one pair of brackets, such as "01-16,20".
Result<std::vector<std::string>> expand_range(std::string_view inside, std::string_view pattern) {
  std::vector<std::string> texts;
  for (const std::string& part : split(inside, ',')) {
    const size_t dash = part.find('-');
    const std::string_view first = std::string_view(part).substr(0, dash);
    const std::string_view last = dash == std::string::npos ? first : std::string_view(part).substr(dash + 1);
    constexpr long kNone = -1;
    const long from = only(first, kDigits) ? parse_int(first, 0, kLastNumber).value_or(kNone) : kNone;
    const long to = only(last, kDigits) ? parse_int(last, 0, kLastNumber).value_or(kNone) : kNone;
    if (from == kNone || to == kNone || from > to) {
      return invalid("range", part, "ranges such as node[01-16,20]");
    }
    if (to - from >= static_cast<long>(kMostHosts - std::min(kMostHosts, texts.size()))) {
      return too_many(pattern);
    }
    for (long number = from; number <= to; ++number) {
      std::string text = std::to_string(number);
      if (text.size() < first.size()) text.insert(0, first.size() - text.size(), '0');
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

/// Reads the count after the host; any other text is an error.
Result<void> take_count(std::string_view rest, std::string_view word, HostWord& host) {
  if (rest.empty()) return {};
  if (rest.front() != ':') return invalid("host name", word, "[::1]:4 for an IPv6 address with slots");
  host.has_count = true;
  host.count = rest.substr(1);
  return {};
}

}  // namespace

Result<void> check_host_name(std::string_view name) {
  if (is_ipv6(name)) return {};
  if (!only(name, kNameCharacters) || name.front() == '-' || name.front() == '.' || name.size() > kLongestName) {
    return invalid("host name", name, "letters, digits, '.', '-' and '_', without a leading '-' or '.'");
  }
  return {};
}

Result<void> check_user(std::string_view user) {
  if (only(user, kUserCharacters) && user.front() != '-' && user.size() <= kLongestName) return {};
  return invalid("user name", user, "letters, digits, '.', '-', '_' and '+', without a leading '-'");
}

Result<std::vector<std::string>> expand_names(std::string_view pattern) {
  std::vector<std::string> names = {""};
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const size_t open = std::min(rest.find('['), rest.size());
    for (std::string& name : names) name += rest.substr(0, open);
    if (open == rest.size()) break;
    const size_t close = rest.find(']', open);
    if (close == std::string_view::npos) return invalid("host name", pattern, "a ']' for each '['");
    const auto texts = TRY(expand_range(rest.substr(open + 1, close - open - 1), pattern));
    if (names.size() * texts.size() > kMostHosts) {
      return too_many(pattern);
    }
    std::vector<std::string> longer;
    longer.reserve(names.size() * texts.size());
    for (const std::string& name : names) {
      for (const std::string& text : texts) longer.push_back(name + text);
    }
    names = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  for (const std::string& name : names) {
    TRY(check_host_name(name));
  }
  return names;
}

Result<HostWord> parse_host_word(std::string_view word) {
  HostWord host;
  std::string_view rest = word;
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    host.user = rest.substr(0, at);
    TRY(check_user(host.user));
    rest.remove_prefix(at + 1);
  }
  if (is_ipv6(rest)) {
    host.names = {std::string(rest)};
    return host;
  }
  const size_t close = rest.find(']');
  if (rest.starts_with('[') && close != std::string_view::npos && is_ipv6(rest.substr(1, close - 1))) {
    host.names = {std::string(rest.substr(1, close - 1))};
    TRY(take_count(rest.substr(close + 1), word, host));
    return host;
  }
  const size_t colon = std::min(rest.find(':'), rest.size());
  auto names = TRY(expand_names(rest.substr(0, colon)));
  host.names = std::move(names);
  TRY(take_count(rest.substr(colon), word, host));
  return host;
}

std::vector<std::string> split_outside_brackets(std::string_view text, char separator) {
  std::vector<std::string> parts = {""};
  bool inside = false;
  for (const char c : text) {
    if (c == '[') inside = true;
    if (c == ']') inside = false;
    if (c == separator && !inside) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace dlaunch::hosts
