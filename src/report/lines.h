// Texts of reports: lines for stderr, readable numbers and durations. PURE.
#pragma once

#include <string>
#include <string_view>

#include "base/printable.h"
#include "base/text.h"
#include "base/time.h"

namespace dlaunch::report {

/// Each text becomes a message() (base/printable.h).
class Lines {
 public:
  void add(std::string_view text) { text_ += message("", text); }
  /// Adds each line of `texts`, with `before` in front.
  void add_each(std::string_view before, std::string_view texts) {
    for (const std::string& line : split(trim(texts), '\n')) text_ += message(before, line);
  }
  void add_hint(std::string_view hint) {
    if (!hint.empty()) add_each("  ", hint);
  }
  /// Adds lines that already start with "dlaunch: " and end with a newline.
  void add_complete(std::string_view lines) { text_ += lines; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Readable numbers and durations. PURE.

/// Formats a double with a printf(3) format; at most 31 characters.
std::string formatted(const char* format, double number);

/// At most `columns` characters of a text in UTF-8, each one column wide.
std::string cut_to(std::string_view text, std::size_t columns);

/// "0.03 s", "12.4 s", "3 min 5 s", "2 h 7 min".
std::string duration_text(Duration duration);

}  // namespace dlaunch::report
