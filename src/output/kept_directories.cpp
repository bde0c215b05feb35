#include "output/kept_directories.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace dlaunch::output {
namespace {

/// Whether the path is a directory and not a link. If not, errno is ENOTDIR, or 0 if the path does not exist.
bool is_directory(const std::string& path) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) errno = 0;
    return false;
  }
  errno = ENOTDIR;
  return S_ISDIR(facts.st_mode);
}

}  // namespace

std::string keep_directories(const std::string& path, std::uint32_t keep) {
  const auto numbered = [&](std::uint32_t n) { return n == 0 ? path : path + '.' + std::to_string(n); };
  if (!is_directory(path)) return errno == 0 ? "" : "keep " + path;
  std::uint32_t last = 1;
  while (last < keep && is_directory(numbered(last))) ++last;
  if (is_directory(numbered(last))) {
    std::error_code error;
    std::filesystem::remove_all(numbered(last), error);  // removes links without following them
    if (error) {
      errno = error.value();
      return "remove " + numbered(last);
    }
  } else if (errno != 0) {
    return "keep " + path + " as " + numbered(last);
  }
  for (; last > 0; --last) {
    if (::rename(numbered(last - 1).c_str(), numbered(last).c_str()) == 0) continue;
    return "rename " + numbered(last - 1) + " to " + numbered(last);
  }
  return "";
}

}  // namespace dlaunch::output
