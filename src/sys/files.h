// Reads a whole file (of /proc or /sys, or the start of another file) and the entries of a directory, and creates the
// file of a rank with its directories. Without streams and <filesystem>, which would double the size of the agent.
#pragma once

#include <dirent.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::sys {

/// Reads at most `limit` bytes from the start. Returns nullopt if the file cannot be opened or read.
std::optional<std::string> read_file(const std::string& path, std::size_t limit = 64u << 10);

/// Like read_file for an open file, from its current offset.
std::optional<std::string> read_file(const Fd& file, std::size_t limit);

/// Reads a regular file, not a link, as a whole. Returns nullopt for other kinds of files, and above `limit`.
std::optional<std::string> read_regular_file(const std::string& path, std::size_t limit);

/// Whether execve(2) rejects an executable file with these first bytes (ENOEXEC): a text without "#!", unless this
/// machine has other formats of programs (binfmt_misc).
bool is_mere_text(std::string_view start);

bool is_fifo(const std::string& path);
/// The reason and the hint after ENXIO, if is_fifo().
inline constexpr const char* kNoReader = "no program reads the FIFO";
inline constexpr const char* kStartReader = "start the reader first";

struct Created {
  bool file = false;
  std::vector<std::string> directories = {};
};

/// Opens a file for writing without blocking. Creates missing files and directories. Returns an empty Fd with errno set
/// on failure: ENXIO for a FIFO without a reader; for links in the path see held_directory.h. Adds what this call
/// created to `created`.
Fd create_file(const std::string& path, int more_flags = 0, Created* created = nullptr);

/// The text of a symbolic link; empty on failure. For /proc/self/fd/N, the path of the open file.
std::string link_target(const std::string& link);

/// Removes an empty regular file, also if a link led to the file.
void remove_if_empty(const Fd& file);

/// Removes created directories (HeldDirectory::make(), Created) that are empty. Returns false if a
/// directory is not empty.
bool remove_made(const std::vector<std::string>& made);

// The entries of a directory, by readdir. <filesystem> would make the agent larger.

/// Calls visit(entry) for each entry except "." and ".." until it returns false. Returns 0 or an errno.
int for_each_entry(const std::string& path, const std::function<bool(const dirent&)>& visit);
/// Like the function above, for an open directory; an empty Fd: errno of the failed open.
int for_each_entry(Fd directory, const std::function<bool(const dirent&)>& visit);

/// The names in ascending order, without names that start with a dot; empty if the directory cannot be read.
std::vector<std::string> entries_of(const std::string& path);

}  // namespace dlaunch::sys
