#include "pmi/line.h"

#include <algorithm>

#include "base/text.h"

namespace dlaunch::pmi {
namespace {

constexpr size_t kQuoted = 60;

tl::unexpected<Error> bad_line(std::string what, std::string_view text) {
  return fail({.where = "", .what = std::move(what), .why = quoted(text), .hint = ""});
}

constexpr size_t kLengthSize = 6;

tl::unexpected<Error> bad_frame(std::string what, std::string_view text) {
  return fail({.where = "", .what = std::move(what), .why = quoted(text), .hint = ""});
}

/// nullopt: the text is not the length of a frame.
std::optional<size_t> parse_length(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  const auto length = parse_int(text, 1, kMaxFrame);
  return length ? std::optional(static_cast<size_t>(*length)) : std::nullopt;
}

/// Takes a value and the ';' after it from `rest`; nullopt: no ';'.
std::optional<std::string> take_value(std::string_view& rest) {
  std::string value;
  while (true) {
    const size_t end = rest.find(';');
    if (end == std::string_view::npos) return {};
    value += rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (!rest.starts_with(';')) return value;
    value += ';';
    rest.remove_prefix(1);
  }
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

Result<PmiLine> parse_frame(std::string_view text) {
  PmiLine line;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t equals = rest.substr(0, rest.find(';')).find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return bad_frame("a PMI frame with a word that is not KEY=VALUE", text);
    }
    std::string key(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    if (key == "message") {  // a text for people at the end, in which clients of MPICH do not double ';'
      line.add(std::move(key), std::string(rest));
      break;
    }
    auto value = take_value(rest);
    if (!value) return bad_frame("a PMI frame that does not end with ';'", text);
    line.add(std::move(key), std::move(*value));
  }
  if (line.pairs().empty() || line.pairs().front().first != "cmd") {
    return bad_frame("a PMI frame without a command at its start", text);
  }
  return line;
}

std::string write_frame(const std::vector<std::pair<std::string_view, std::string_view>>& pairs) {
  std::string text(kLengthSize, ' ');
  for (const auto& [key, value] : pairs) {
    if (key.empty()) continue;
    text.append(key) += '=';
    for (const char c : value) text.append(c == ';' ? 2 : 1, c);
    text += ';';
  }
  const std::string length = std::to_string(text.size() - kLengthSize);
  return text.replace(0, length.size(), length);
}

Result<std::optional<std::string>> FrameReader::next() {
  if (buffer_.size() < kLengthSize) return std::nullopt;
  const auto length = parse_length(std::string_view(buffer_).substr(0, kLengthSize));
  if (!length) return bad_frame("a PMI frame without its length", buffer_);
  if (buffer_.size() < kLengthSize + *length) return std::nullopt;
  std::string frame = buffer_.substr(kLengthSize, *length);
  buffer_.erase(0, kLengthSize + *length);
  return frame;
}

}  // namespace dlaunch::pmi
