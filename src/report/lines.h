// Lines for stderr while they are gathered. PURE.
#pragma once

#include <string>
#include <string_view>

#include "base/printable.h"
#include "base/text.h"

namespace dlaunch::report {

/// Collects lines; whatever they hold, each is one line and safe to show.
class Lines {
 public:
  void add(std::string_view text) { text_ += "dlaunch: " + printable(text) + '\n'; }
  void add_each(const std::string& before, std::string_view texts) {
    for (const std::string& line : split(trim(texts), '\n')) add(before + line);
  }
  void add_hint(std::string_view hint) {
    if (!hint.empty()) add_each("  ", hint);
  }
  /// Lines that another has collected.
  void add_told(std::string_view lines) { text_ += lines; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace dlaunch::report
