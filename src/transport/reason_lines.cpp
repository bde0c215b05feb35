#include "transport/reason_lines.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace dlaunch::transport {
namespace {

constexpr size_t kMostLine = 4096;  // bytes; longer lines are cut
constexpr size_t kShownLines = 2;

}  // namespace

void ReasonLines::take(std::string_view bytes, std::int64_t now_ns, const OnLine& on_line) {
  read_ns_ = now_ns;
  for (const char c : bytes) {
    if (c != '\n') {
      if (partial_.size() < kMostLine) partial_ += c;
      continue;
    }
    const std::string line(trim(std::exchange(partial_, {})));
    if (line.empty()) continue;
    const place::LineMeaning meaning = place::meaning_of(line);
    if (!has_cause() && meaning != place::LineMeaning::noise) last_ = {line, meaning, now_ns};
    if (on_line) on_line(line);
  }
}

ReasonLine ReasonLines::last() const {
  return partial_.empty() || has_cause() ? last_ : ReasonLine{partial_, place::meaning_of(partial_), read_ns_};
}

/// Lines after an ended step or job, or after a failed launch, are consequences.
bool ReasonLines::has_cause() const {
  return place::leaves_nothing(last_.meaning) || last_.meaning == place::LineMeaning::refused;
}

void ReasonLines::forget() {
  if (!place::ends_step(last_.meaning)) last_ = {};
}

std::string last_lines(std::string_view output) {
  std::vector<std::string> lines;
  for (const std::string& line : split(output, '\n')) {
    if (const auto text = trim(line); !text.empty()) lines.emplace_back(text);
  }
  std::string words;
  for (size_t i = lines.size() - std::min(lines.size(), kShownLines); i < lines.size(); ++i) {
    words += (words.empty() ? "" : "; ") + lines[i];
  }
  return words;
}

bool is_dropped_login(std::string_view words) {
  return words.find("Connection closed by ") != words.npos || words.find("Connection reset by ") != words.npos;
}

}  // namespace dlaunch::transport
