// Reads a file at once (one of /proc or /sys, or the beginning of another), and creates a rank's file with its
// directories. No streams: they would double the agent's size.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "sys/fd.h"

namespace dlaunch::sys {

/// Reads at most `limit` bytes from the start; nullopt when the file cannot be opened or read.
std::optional<std::string> read_file(const std::string& path, std::size_t limit = 64u << 10);

/// The same for an open file, from its current offset.
std::optional<std::string> read_file(const Fd& file, std::size_t limit);

/// A regular file that is no link, read whole; nullopt where it is something else, or longer than `limit`.
std::optional<std::string> read_regular_file(const std::string& path, std::size_t limit);

/// Opens a file for writing without blocking, and creates it and its directories where they are missing. Empty with
/// errno set on failure: ENXIO for a FIFO without a reader.
Fd create_file(const std::string& path, int more_flags = 0);

}  // namespace dlaunch::sys
