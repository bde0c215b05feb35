#include "agent/oom.h"

#include <fstream>
#include <string>

namespace dlaunch::agent {
namespace {

std::optional<long> counter(const std::string& path) {
  std::ifstream file(path);
  std::string key;
  long value = 0;
  while (file >> key >> value) {
    if (key == "oom_kill") return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<long> oom_kills() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  std::optional<long> count;
  while (!count && std::getline(groups, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) count = counter("/sys/fs/cgroup" + group + "/memory.events");
    if (controllers == "memory") count = counter("/sys/fs/cgroup/memory" + group + "/memory.oom_control");
  }
  return count;
}

}  // namespace dlaunch::agent
