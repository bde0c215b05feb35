// Linux' /proc files of a process: parsers (pure: the text of a file in, values out), the kernel's counters, and the
// reason why a process cannot be read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::stacks {

/// /proc/PID/stat or /proc/PID/task/TID/stat.
struct Stat {
  std::string name;
  char state = '?';
  std::uint64_t ticks = 0;       ///< CPU time, user and system, with that of reaped children
  std::uint64_t start_time = 0;  ///< start time: a later process may have the same pid
};
std::optional<Stat> parse_stat(std::string_view text);

/// A line of /proc/PID/maps.
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;
  bool executable = false;
  std::string path;
  std::string file = {};  ///< device and inode: a later file may have the same path
};
/// Mappings of files, and of the kernel's code ("[vdso]"), ordered by address.
std::vector<Mapping> parse_maps(std::string_view text);

/// The number after "Name:" in /proc/PID/status or /proc/PID/io.
std::optional<std::int64_t> number_of(std::string_view text, std::string_view name);

/// /proc/PID/cmdline for a person: the beginning, with blanks between the words. Without arguments, the process' name.
std::string command_of(std::string_view cmdline, std::string_view name);

/// A file of /proc/PID; empty: unreadable.
std::string read_proc(pid_t pid, const std::string& file, std::size_t limit = 64u << 10);

/// CPU time with that of reaped children, in milliseconds.
std::int64_t cpu_of(const Stat& stat);
/// 0: the process does not exist.
std::int64_t cpu_of(pid_t pid);

/// rchar + wchar; nullopt: unknown.
std::optional<std::int64_t> io_of(pid_t pid);

/// The reason why a process cannot be read, and the next step. For a process whose memory this process may not read.
std::string why_denied(pid_t pid);

}  // namespace dlaunch::stacks
