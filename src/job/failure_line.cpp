#include "job/failure_line.h"

#include <algorithm>
#include <ranges>

#include "base/printable.h"

namespace dlaunch::job {
namespace {

constexpr std::size_t kHexWord = 8;        // a word of hexadecimal letters only is a number from this length
constexpr std::size_t kHexPartOfUuid = 4;  // the same length, for a word after a number and '-'

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool may_join_numbers(char c) { return c == '.' || c == ',' || c == ':' || c == '-'; }

std::size_t count_while(std::string_view text, bool (*is)(char)) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is) - text.begin());
}

/// Replaces each number with '#'. A separator between two numbers is removed when the second number is added: "12.5"
/// becomes one '#'.
class Replacer {
 public:
  std::string take() && { return std::move(out_); }

  /// Takes a blank, a separator, or a word of letters and digits from the start of `text`; returns its size.
  std::size_t next(std::string_view text) {
    if (is_blank(text[0])) {
      if (!out_.empty() && out_.back() != ' ') out_ += ' ';
      return 1;
    }
    const std::size_t size = count_while(text, [](char c) { return is_letter(c) || is_digit(c); });
    if (size == 0) {
      out_ += text[0];
      return 1;
    }
    add_word(text.substr(0, size));
    return size;
  }

 private:
  /// "12.5", "10:03:27", "2024-05-06" and "10.0.0.7" are one number each, "-5" is a number.
  void add_number() {
    const std::size_t end = out_.size();
    if (end >= 2 && may_join_numbers(out_[end - 1]) && out_[end - 2] == '#') {
      out_.pop_back();
      return;
    }
    const bool has_sign = end >= 1 && (out_[end - 1] == '-' || out_[end - 1] == '+');
    if (has_sign && (end == 1 || !is_letter(out_[end - 2]))) out_.pop_back();
    if (out_.empty() || out_.back() != '#') out_ += '#';
  }

  bool is_hex_number(std::string_view word) const {
    if (!std::ranges::all_of(word, is_hex)) return false;
    return std::ranges::any_of(word, is_digit) || word.size() >= kHexWord ||
           (out_.ends_with("#-") && word.size() >= kHexPartOfUuid);
  }

  void add_word(std::string_view word) {
    if (is_hex_number(word)) return add_number();
    while (!word.empty()) {
      std::size_t size = count_while(word, is_digit);
      if (size == 0) {
        out_ += word[0];
        word.remove_prefix(1);
        continue;
      }
      if (word.size() > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X')) {
        const std::size_t digits = count_while(word.substr(2), is_hex);
        if (digits > 0) size = 2 + digits;
      }
      add_number();
      word.remove_prefix(size);
    }
  }

  std::string out_;
};

}  // namespace

std::string without_numbers(std::string_view line) {
  const std::string shown = printable(line.substr(0, line.find_last_not_of("\r\n") + 1));
  Replacer replacer;
  for (std::string_view rest = shown; !rest.empty();) rest.remove_prefix(replacer.next(rest));
  std::string text = std::move(replacer).take();
  if (text.ends_with(' ')) text.pop_back();
  if (text.size() <= kFailureLine) return text;
  std::size_t end = kFailureLine;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;  // the middle of a character
  text.resize(end);
  return text;
}

std::string failure_line(const std::vector<std::string>& lines) {
  for (const std::string& line : lines | std::views::reverse) {
    if (std::string text = without_numbers(line); !text.empty()) return text;
  }
  return {};
}

}  // namespace dlaunch::job
