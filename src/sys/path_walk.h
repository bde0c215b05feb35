// Resolves a path name by name, so that each symbolic link can be examined. Used by HeldDirectory.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "sys/fd.h"

namespace dlaunch::sys {

inline constexpr int kDirectoryFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
inline constexpr int kMostLinks = 40;  ///< in one path, as in the kernel

/// The directory of a path, opened with O_PATH; with `missing`, created directories have this mode. Returns an empty Fd
/// with errno set: ELOOP for a link that is not trusted.
Fd walk(const std::string& path, std::optional<mode_t> missing, const Fd& start = {});

/// A link of /proc leads to its object, whatever its text.
bool is_in_proc(const Fd& directory);

/// The target of the link `name` if the link can be trusted; nullopt with errno set.
std::optional<std::string> trusted_target(const Fd& directory, const std::string& name);

/// "a/b/" gives "a" and "b". The directory of a single name is ".".
std::pair<std::string, std::string> split_last(const std::string& path);

}  // namespace dlaunch::sys
