// A file of the kernel's (/proc, /sys), or the beginning of any other, read at once. No streams: they would double the
// agent's size.
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

}  // namespace dlaunch::sys
