// Files: one of the kernel's (/proc, /sys), or the beginning of any other, read at once; and a rank's made, with its
// directories. No streams: they would double the agent's size.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "sys/fd.h"

namespace dlaunch::sys {

/// At most `limit` bytes from the start; nullopt when it cannot be opened or read.
std::optional<std::string> read_file(const std::string& path, std::size_t limit = 64u << 10);

/// The same of one that is open, from where it stands.
std::optional<std::string> read_file(const Fd& file, std::size_t limit);

/// Opens a file of that name for writing, without waiting; makes it, and the directories that it is in, where they are
/// not there. Empty with errno: ENXIO of a FIFO without a reader.
Fd create_file(const std::string& path, int more_flags = 0);

}  // namespace dlaunch::sys
