#include "sys/create_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace dlaunch::sys {
namespace {

constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0644;

/// Makes the directories that `path` is in. 0 or errno.
int make_parents(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), kDirectoryMode) == 0) continue;
    // Read-only parents that exist say EROFS or EACCES here; whether they will do, the next step tells.
    if (errno != EEXIST && errno != EROFS && errno != EACCES) return errno;
  }
  return 0;
}

}  // namespace

Fd create_file(const std::string& path, int more_flags) {
  const int flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | more_flags;
  Fd fd(::open(path.c_str(), flags, kFileMode));
  if (fd || errno != ENOENT) return fd;
  if (const int error = make_parents(path); error != 0) {
    errno = error;
    return {};
  }
  return Fd(::open(path.c_str(), flags, kFileMode));
}

}  // namespace dlaunch::sys
