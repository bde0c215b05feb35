#include "sys/caught_signals.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "sys/descendants.h"
#include "sys/files.h"

namespace dlaunch::sys {

bool catches(int pid, int signal) {
  constexpr std::string_view kField = "\nSigCgt:";
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
  const size_t at = status.find(kField);
  if (at == std::string::npos) return false;
  const std::uint64_t mask = std::strtoull(status.c_str() + at + kField.size(), nullptr, 16);
  return ((mask >> (signal - 1)) & 1) != 0;
}

std::vector<std::uint32_t> signal_where_caught(const std::vector<std::pair<std::uint32_t, pid_t>>& children,
                                               int signal) {
  std::multimap<int, Process> by_parent;
  std::map<int, Process> by_pid;
  for (Process& process : descendants()) {
    by_parent.emplace(process.parent, process);
    by_pid.emplace(process.pid, std::move(process));
  }
  std::vector<std::uint32_t> uncaught;
  for (const auto& [number, child] : children) {
    std::vector<Process> left;
    if (const auto found = by_pid.find(child); found != by_pid.end()) left.push_back(found->second);
    bool any = false;
    while (!left.empty()) {
      const Process process = std::move(left.back());
      left.pop_back();
      if (catches(process.pid, signal)) {
        signal_process(process, signal);
        any = true;
        continue;
      }
      const auto [first, last] = by_parent.equal_range(process.pid);
      for (auto it = first; it != last; ++it) left.push_back(it->second);
    }
    if (!any) uncaught.push_back(number);
  }
  return uncaught;
}

}  // namespace dlaunch::sys
