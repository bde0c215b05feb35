#include "agent/oom.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "sys/files.h"

namespace dlaunch::agent {
namespace {

/// The number after "oom_kill " in a file of "key value" lines.
std::optional<long> counter(const std::string& path) {
  constexpr std::string_view kKey = "oom_kill ";
  for (const std::string& line : split(sys::read_file(path).value_or(""), '\n')) {
    if (line.starts_with(kKey)) return parse_int(std::string_view(line).substr(kKey.size()), 0, 1L << 62);
  }
  return std::nullopt;
}

/// `line` of /proc/self/cgroup: number, controllers, path.
std::optional<long> counter_of(std::string_view line) {
  const size_t first = line.find(':');
  const size_t second = line.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const std::string group(line.substr(second + 1));
  if (controllers.empty()) return counter("/sys/fs/cgroup" + group + "/memory.events");
  if (controllers == "memory") return counter("/sys/fs/cgroup/memory" + group + "/memory.oom_control");
  return std::nullopt;
}

}  // namespace

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

std::optional<long> oom_kills() {
  for (const std::string& line : split(sys::read_file("/proc/self/cgroup").value_or(""), '\n')) {
    if (const auto count = counter_of(line)) return count;
  }
  return std::nullopt;
}

}  // namespace dlaunch::agent
