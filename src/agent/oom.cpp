#include "agent/oom.h"

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace dlaunch::agent {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open(const std::string& path) { return {std::fopen(path.c_str(), "re"), &std::fclose}; }

std::optional<long> counter(const std::string& path) {
  const File file = open(path);
  std::array<char, 64> key{};
  long value = 0;
  while (file && std::fscanf(file.get(), "%63s %ld", key.data(), &value) == 2) {
    if (std::string_view(key.data()) == "oom_kill") return value;
  }
  return std::nullopt;
}

/// A line of /proc/self/cgroup: number, controllers, path.
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
  const File groups = open("/proc/self/cgroup");
  std::array<char, 4096> line{};
  while (groups && std::fgets(line.data(), line.size(), groups.get())) {
    std::string_view text(line.data());
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (const auto count = counter_of(text)) return count;
  }
  return std::nullopt;
}

}  // namespace dlaunch::agent
