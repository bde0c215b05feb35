// The kernel's counters of a process, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "stacks/proc.h"

namespace dlaunch::stacks {

/// A file of /proc/PID; empty: unreadable.
std::string read_proc(pid_t pid, const std::string& file, std::size_t limit = 64u << 10);

/// CPU time with that of reaped children, in milliseconds.
std::int64_t cpu_of(const Stat& stat);
/// 0: the process does not exist.
std::int64_t cpu_of(pid_t pid);

/// rchar + wchar; nullopt: unknown.
std::optional<std::int64_t> io_of(pid_t pid);

}  // namespace dlaunch::stacks
