#include "agent/oom.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "sys/files.h"

namespace dlaunch::agent {

RankOomScore::RankOomScore() {
  constexpr const char* kPath = "/proc/self/oom_score_adj";
  constexpr long kMin = -1000;
  constexpr long kMax = 1000;
  const auto own = parse_int(trim(sys::read_file(kPath).value_or("")), kMin, kMax);
  if (!own || *own == kMax) return;
  file_.reset(::open(kPath, O_WRONLY | O_CLOEXEC));
  own_ = std::to_string(*own);
  raised_ = std::to_string(std::min(*own + kRankOomScore, kMax));
}

void RankOomScore::write(const std::string& value) const {
  if (file_) [[maybe_unused]]
    const ssize_t wrote = ::pwrite(file_.get(), value.data(), value.size(), 0);
}

}  // namespace dlaunch::agent
