#include "pmi/line.h"

#include <algorithm>

namespace dlaunch::pmi {
namespace {

constexpr size_t kQuoted = 60;

tl::unexpected<Error> bad_line(std::string what, std::string_view text) {
  return fail({.where = "", .what = std::move(what), .why = quoted(text), .hint = ""});
}

}  // namespace

std::string_view PmiLine::operator[](std::string_view key) const {
  const auto found = std::ranges::find(pairs_, key, [](const auto& pair) -> std::string_view { return pair.first; });
  return found == pairs_.end() ? std::string_view() : found->second;
}

bool PmiLine::has(std::string_view key) const {
  return std::ranges::any_of(pairs_, [&](const auto& pair) { return pair.first == key; });
}

Result<PmiLine> parse_line(std::string_view text) {
  PmiLine line;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t start = std::min(rest.find_first_not_of(' '), rest.size());
    rest.remove_prefix(start);
    if (rest.empty()) break;
    const size_t equals = rest.substr(0, rest.find(' ')).find('=');
    if (equals == std::string_view::npos || equals == 0)
      return bad_line("a PMI line with a word that is not KEY=VALUE", text);
    const std::string_view key = rest.substr(0, equals);
    // The only value with blanks is a text for people at the end.
    const size_t end = key == "message" ? rest.size() : std::min(rest.find(' '), rest.size());
    line.add(std::string(key), std::string(rest.substr(equals + 1, end - equals - 1)));
    rest.remove_prefix(end);
  }
  if (line.pairs().empty()) return bad_line("an empty PMI line", text);
  const std::string& command = line.pairs().front().first;
  if (command != "cmd" && command != "mcmd") return bad_line("a PMI line without a command at its start", text);
  return line;
}

std::string write_line(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) {
    if (!text.empty()) text += ' ';
    text.append(key).append("=").append(value);
  }
  return text += '\n';
}

Result<std::optional<std::string>> LineReader::next() {
  const size_t end = buffer_.find('\n');
  if (std::min(end, buffer_.size()) > kMaxLine) {
    return bad_line("a PMI line of more than " + std::to_string(kMaxLine) + " bytes", buffer_);
  }
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

std::string quoted(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text.substr(0, kQuoted)) shown += c < ' ' || c > '~' ? '?' : c;
  return shown + (text.size() > kQuoted ? "…\"" : "\"");
}

}  // namespace dlaunch::pmi
