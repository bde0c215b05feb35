#include "transport/reason_lines.h"

#include <utility>

#include "base/text.h"
#include "transport/command_words.h"

namespace dlaunch::transport {
namespace {

constexpr size_t kMostLine = 4096;  // bytes; longer lines are cut

}  // namespace

void ReasonLines::take(std::string_view bytes, const OnLine& on_line) {
  for (const char c : bytes) {
    if (c != '\n') {
      if (partial_.size() < kMostLine) partial_ += c;
      continue;
    }
    const std::string line(trim(std::exchange(partial_, {})));
    if (line.empty()) continue;
    if (!has_cause() && !is_remark(line)) last_ = line;
    if (on_line) on_line(line);
  }
}

std::string ReasonLines::last() const { return partial_.empty() || has_cause() ? last_ : partial_; }

/// Lines after an ended step or a failed launch are consequences.
bool ReasonLines::has_cause() const { return is_ended_step(last_) || is_failed_launch(last_); }

void ReasonLines::forget() {
  if (!is_ended_step(last_)) last_.clear();
}

}  // namespace dlaunch::transport
