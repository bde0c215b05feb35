#include "output/fold_key.h"

#include <algorithm>
#include <utility>

namespace dlaunch::output {
namespace {

constexpr std::size_t kAddressDigits = 7;  // of a hexadecimal number; shorter numbers are codes and flags
constexpr std::size_t kTimeWithin = 64;    // a time stamp starts in the first bytes of a line

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_digit(c) || is_letter(c) || c == '_'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; }

bool word_at(std::string_view text, std::size_t at) { return at < text.size() && is_word(text[at]); }
bool digit_at(std::string_view text, std::size_t at) { return at < text.size() && is_digit(text[at]); }

template <class Kind>
std::size_t end_of(std::string_view text, std::size_t at, Kind kind) {
  while (at < text.size() && kind(text[at])) ++at;
  return at;
}

bool ends_with(std::string_view text, std::string_view lower_end) {
  return text.size() >= lower_end.size() &&
         std::ranges::equal(text.substr(text.size() - lower_end.size()), lower_end, {}, lower);
}

bool contains(std::string_view text, std::string_view lower_part) {
  return !std::ranges::search(text, lower_part, {}, lower).empty();
}

/// `form`: '0' stands for a digit, each other character for itself.
bool has_form(std::string_view text, std::string_view form) {
  return text.size() >= form.size() && std::ranges::equal(text.substr(0, form.size()), form, [](char c, char wanted) {
           return wanted == '0' ? is_digit(c) : c == wanted;
         });
}

/// The size of "12:22:31", with ".123" or ",123"; else 0.
std::size_t clock_size(std::string_view text) {
  constexpr std::string_view kForm = "00:00:00";
  if (!has_form(text, kForm)) return 0;
  const std::size_t end = kForm.size();
  const bool fraction = end < text.size() && (text[end] == '.' || text[end] == ',') && digit_at(text, end + 1);
  return fraction ? end_of(text, end + 1, is_digit) : end;
}

/// The size of a time stamp at the start of `text`, else 0: ISO 8601 without its zone, a time of day, or glog's
/// "1129 12:22:31.123456".
std::size_t time_size(std::string_view text) {
  if (const std::size_t size = clock_size(text); size > 0) return size;
  for (const std::string_view date : {"0000-00-00 ", "0000-00-00T", "0000/00/00 ", "0000 "}) {
    if (!has_form(text, date)) continue;
    const std::size_t size = clock_size(text.substr(date.size()));
    return size > 0 ? date.size() + size : 0;
  }
  return 0;
}

/// The end of a number with decimals and exponent: "12", "0.41", "1e-05".
std::size_t number_end(std::string_view text, std::size_t at) {
  std::size_t end = end_of(text, at, is_digit);
  if (end < text.size() && text[end] == '.' && digit_at(text, end + 1)) end = end_of(text, end + 1, is_digit);
  if (end >= text.size() || lower(text[end]) != 'e') return end;
  const bool sign = end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+');
  const std::size_t digits = end + (sign ? 2 : 1);
  return digit_at(text, digits) ? end_of(text, digits, is_digit) : end;
}

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

/// "ValueError: bad", "KeyboardInterrupt", "torch.OutOfMemoryError: CUDA out of memory".
bool is_exception(std::string_view line) {
  if (line.empty() || is_digit(line.front())) return false;
  const std::size_t end = end_of(line, 0, [](char c) { return is_word(c) || c == '.'; });
  return end > 0 && (end == line.size() || line[end] == ':');
}

constexpr std::string_view kTraceback = "Traceback (most recent call last):";
constexpr std::string_view kGroup = "  + Exception Group Traceback (most recent call last):";
constexpr std::array<std::string_view, 4> kOtherStarts = {"Fatal Python error: ", "Current thread 0x", "Thread 0x",
                                                          "terminate called after "};
constexpr std::array<std::string_view, 2> kLinks = {
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:"};

/// Writes a key (see write_key).
class KeyWriter {
 public:
  KeyWriter(std::string_view text, bool with_numbers, const OwnWords& own, std::string& key,
            std::vector<NumberAt>& numbers)
      : text_(text), with_numbers_(with_numbers), own_(own), key_(key), numbers_(numbers) {}

  KeyKind write() {
    const char host = own_.first_of_host();
    std::size_t at = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (c == host && leave_out(at, own_.host_at(text_, at), 'h')) {
        at = copied_;
      } else if (is_digit(c)) {
        at = pass_number(at);
      } else {
        ++at;
      }
    }
    if (copied_ == 0) return names_other_ ? KeyKind::text : KeyKind::text_of_all;
    key_ += text_.substr(copied_);
    return KeyKind::key;
  }

 private:
  bool leave_out(std::size_t at, std::size_t size, char kind) {
    if (size == 0) return false;
    key_ += text_.substr(copied_, at - copied_);
    key_ += '\0';
    key_ += kind;
    copied_ = at + size;
    return true;
  }

  /// A time stamp begins the line, or comes after a bracket, or after the letter of glog. "eta 00:10:00" is a duration.
  bool begins_time(std::size_t at) const {
    const std::string_view before = text_.substr(0, at);
    return before.empty() || before.back() == '[' || before.back() == '(' || (at == 1 && is_letter(before[0])) ||
           (at > 1 && before.substr(before.size() - 2) == "] ");
  }

  /// Returns the end of the number at `at`.
  std::size_t pass_number(std::size_t at) {
    if (!has_time_ && at < kTimeWithin && begins_time(at) && leave_out(at, time_size(text_.substr(at)), 't')) {
      has_time_ = true;
      return copied_;
    }
    const std::size_t digits = end_of(text_, at, is_digit);
    const bool is_hex_number = digits == at + 1 && text_[at] == '0' && digits < text_.size() && text_[digits] == 'x';
    const std::size_t hex_end = is_hex_number ? end_of(text_, digits + 1, is_hex) : 0;
    if (hex_end >= digits + 1 + kAddressDigits && leave_out(at, hex_end - at, 'x')) return copied_;
    const bool is_decimal = digits < text_.size() && text_[digits] == '.' && digit_at(text_, digits + 1);
    bool is_own = false;
    if (!is_decimal && !word_at(text_, digits)) {
      const OwnWords::Owner owner = own_.owner_of(text_, at, text_.substr(at, digits - at));
      is_own = owner == OwnWords::Owner::self;
      names_other_ = names_other_ || owner == OwnWords::Owner::other;
    }
    if (!is_own && !with_numbers_) return digits;
    const std::size_t end = is_own ? digits : number_end(text_, at);
    numbers_.push_back({at, end - at});
    leave_out(at, end - at, 'd');
    return end;
  }

  std::string_view text_;
  bool with_numbers_;
  const OwnWords& own_;
  std::string& key_;
  std::vector<NumberAt>& numbers_;
  std::size_t copied_ = 0;  // the end of the last part that was left out
  bool has_time_ = false;
  bool names_other_ = false;  // the text may have a number of another rank
};

}  // namespace

OwnWords::OwnWords(int rank, int local_rank, std::optional<int> device, std::string host)
    : rank_(std::to_string(rank)),
      local_rank_(std::to_string(local_rank)),
      device_(device ? std::to_string(*device) : local_rank_),
      host_(std::move(host)),
      prefix_("[rank" + rank_ + "]:") {}

OwnWords::Owner OwnWords::owner_of(std::string_view text, std::size_t at, std::string_view number) const {
  const auto same = [number](const std::string& own) { return number == own ? Owner::self : Owner::other; };
  if (at == 0) return number == pid_ ? Owner::self : Owner::none;
  std::size_t end = at;
  while (end > 0 && at - end < 2 && std::string_view(" =:#").find(text[end - 1]) != std::string_view::npos) --end;
  const std::string_view before = text.substr(0, end);
  if (ends_with(before, "rank")) {
    const std::string_view kind = before.substr(0, end - 4);
    if (ends_with(kind, "local_") || ends_with(kind, "local ") || ends_with(kind, "local")) return same(local_rank_);
    return kind.empty() || !is_letter(kind.back()) ? same(rank_) : Owner::none;
  }
  for (const std::string_view word : {"device", "cuda", "gpu", "npu"}) {
    if (ends_with(before, word)) return same(device_);
  }
  return number == pid_ && !is_word(text[at - 1]) ? Owner::self : Owner::none;
}

std::size_t OwnWords::host_at(std::string_view text, std::size_t at) const {
  const auto is_part = [](char c) { return is_word(c) || c == '-'; };
  if (at > 0 && (is_part(text[at - 1]) || text[at - 1] == '.')) return 0;
  const std::string_view here = text.substr(at);
  const std::string_view whole = host_;
  for (const std::string_view name : {whole, is_digit(whole[0]) ? whole : whole.substr(0, whole.find('.'))}) {
    if (here.starts_with(name) && (here.size() == name.size() || !is_part(here[name.size()]))) return name.size();
  }
  return 0;
}

std::string_view OwnWords::without_prefix(std::string_view line) const {
  if (!line.starts_with(prefix_)) return line;
  line.remove_prefix(prefix_.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

KeyKind write_key(std::string_view text, Fold level, bool block, const OwnWords& own, std::string& key,
                  std::vector<NumberAt>& numbers) {
  key.clear();
  numbers.clear();
  if (level == Fold::exact || text.find('\0') != std::string_view::npos) return KeyKind::text_of_all;
  const bool only_numbers = std::ranges::none_of(text, is_letter);
  const bool with_numbers = level == Fold::numbers && !block && !only_numbers && !contains(text, "error");
  return KeyWriter(text, with_numbers, own, key, numbers).write();
}

bool Block::starts_with(std::string_view line, const OwnWords& own) {
  if (line.empty() || std::string_view("TFCt[ ").find(line.front()) == std::string_view::npos) return false;
  line = own.without_prefix(line);
  return line.starts_with(kTraceback) || line.starts_with(kGroup) ||
         std::ranges::any_of(kOtherStarts, [&](std::string_view start) { return line.starts_with(start); });
}

void Block::start(std::string_view line, const OwnWords& own) {
  line = own.without_prefix(line);
  *this = {};
  python_ = line.starts_with(kTraceback);
}

bool Block::fits(std::string_view line, const OwnWords& own) {
  line = without_end(own.without_prefix(line));
  if (std::ranges::find(kLinks, line) != kLinks.end()) return is_chained_ = true;
  if (line.empty() || line.front() == ' ' || line.front() == '\t') return true;
  if (is_chained_ && line == kTraceback) {
    has_ended_ = is_chained_ = false;
    return true;
  }
  if (python_) return !has_ended_ && (has_ended_ = is_exception(line));
  return line.starts_with("Current thread 0x") || line.starts_with("Thread 0x");
}

}  // namespace dlaunch::output
