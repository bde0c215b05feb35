#include "sys/oom_kills.h"

#include <string_view>

#include "base/shared_texts.h"
#include "base/text.h"
#include "sys/files.h"

namespace dlaunch::sys {
namespace {

/// The number after "oom_kill " in a file of "key value" lines.
std::optional<long> counter(const std::string& path) {
  constexpr std::string_view kKey = "oom_kill ";
  for (const std::string& line : split(read_file(path).value_or(""), '\n')) {
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

std::optional<long> oom_kills() {
  for (const std::string& line : split(read_file("/proc/self/cgroup").value_or(""), '\n')) {
    if (const auto count = counter_of(line)) return count;
  }
  return std::nullopt;
}

std::string OomWatch::text() const {
  const auto now = before_ ? oom_kills() : std::nullopt;
  return now && *now > *before_ ? kOutOfMemory : "";
}

}  // namespace dlaunch::sys
