#include "transport/reason_lines.h"

#include <utility>

#include "base/text.h"
#include "transport/command_words.h"

namespace dlaunch::transport {
namespace {

constexpr size_t kMostLine = 4096;  // a longer line is cut

}  // namespace

void ReasonLines::take(std::string_view bytes, const Told& told) {
  for (const char c : bytes) {
    if (c != '\n') {
      if (partial_.size() < kMostLine) partial_ += c;
      continue;
    }
    const std::string line(trim(std::exchange(partial_, {})));
    if (line.empty()) continue;
    const bool consequence = is_ended_step(last_);  // what follows an ended step
    if (!consequence && !is_remark(line)) last_ = line;
    if (told) told(line);
  }
}

std::string ReasonLines::last() const { return partial_.empty() || is_ended_step(last_) ? last_ : partial_; }

void ReasonLines::forget() {
  if (!is_ended_step(last_)) last_.clear();
}

}  // namespace dlaunch::transport
