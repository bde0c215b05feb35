#include "stacks/counters.h"

#include <unistd.h>

#include "sys/files.h"

namespace dlaunch::stacks {

std::string read_proc(pid_t pid, const std::string& file, std::size_t limit) {
  return sys::read_file("/proc/" + std::to_string(pid) + '/' + file, limit).value_or("");
}

std::int64_t cpu_of(const Stat& stat) {
  static const auto kTicksPerSecond = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<std::int64_t>(stat.ticks * 1000 / kTicksPerSecond);
}

std::int64_t cpu_of(pid_t pid) {
  const auto stat = parse_stat(read_proc(pid, "stat"));
  return stat ? cpu_of(*stat) : 0;
}

std::optional<std::int64_t> io_of(pid_t pid) {
  const std::string text = read_proc(pid, "io");
  const auto read = number_of(text, "rchar");
  const auto written = number_of(text, "wchar");
  if (!read || !written) return std::nullopt;
  return *read + *written;
}

}  // namespace dlaunch::stacks
