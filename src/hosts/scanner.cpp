#include "hosts/scanner.h"
#include "base/try.h"

#include <algorithm>

namespace dlaunch::hosts {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

}  // namespace

Scanner::Scanner(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
  if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
}

std::string Scanner::place(size_t at) const { return line() + ":" + std::to_string(at - line_start_ + 1); }

bool Scanner::at_line_end() const { return at_end() || text_[at_] == '\n'; }

bool Scanner::comment_begins() const {
  const std::string_view rest = text_.substr(at_);
  return rest.starts_with('#') || rest.starts_with("//") || rest.starts_with("/*");
}

Result<void> Scanner::skip_blanks() {
  while (!at_line_end()) {
    if (is_blank(text_[at_])) {
      ++at_;
    } else if (text_.substr(at_).starts_with("/*")) {
      const size_t close = text_.find("*/", at_ + 2);
      if (close == std::string_view::npos) {
        return fail({.where = here(), .what = "missing end of comment: expected */", .why = "", .hint = ""});
      }
      for (; at_ < close; ++at_) {
        if (text_[at_] != '\n') continue;
        ++line_;
        line_start_ = at_ + 1;
      }
      at_ += 2;
    } else if (comment_begins()) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      break;
    }
  }
  return {};
}

void Scanner::next_line() {
  at_ = std::min(text_.find('\n', at_), text_.size());
  if (at_end()) return;
  line_start_ = ++at_;
  ++line_;
}

std::string_view Scanner::take_word() {
  word_ = at_;
  while (!at_line_end() && !is_blank(text_[at_]) && text_[at_] != '=' && !comment_begins()) ++at_;
  return text_.substr(word_, at_ - word_);
}

Result<std::string> Scanner::take_value() {
  word_ = at_;
  std::string value;
  if (at_line_end() || text_[at_] != '"') {
    while (!at_line_end() && !is_blank(text_[at_])) value += text_[at_++];
    return value;
  }
  for (++at_; !at_line_end(); ++at_) {
    if (text_[at_] == '"') {
      ++at_;
      return value;
    }
    value += text_[at_];
  }
  return fail({.where = word_place(), .what = "missing closing quote \"", .why = "", .hint = "add \" after the value"});
}

Result<bool> Scanner::take_equals() {
  TRY(skip_blanks());
  if (at_line_end() || text_[at_] != '=') return false;
  ++at_;
  return true;
}

}  // namespace dlaunch::hosts
