#include "sys/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>

namespace dlaunch::sys {

std::optional<std::string> read_file(const std::string& path, std::size_t limit) {
  return read_file(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), limit);
}

std::optional<std::string> read_file(const Fd& file, std::size_t limit) {
  if (!file) return std::nullopt;
  std::string text;
  struct stat facts{};
  if (::fstat(file.get(), &facts) == 0) text.reserve(std::min(limit, static_cast<std::size_t>(facts.st_size)));
  std::array<char, 4096> buffer;
  while (text.size() < limit) {
    const ssize_t got = ::read(file.get(), buffer.data(), std::min(buffer.size(), limit - text.size()));
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<std::string> read_regular_file(const std::string& path, std::size_t limit) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  if (facts.st_size > static_cast<off_t>(limit)) return std::nullopt;
  return read_file(file, limit);
}

namespace {

constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0644;

/// Makes the directories above `path`. Returns 0, or the errno of the first directory that is missing afterwards. EROFS
/// and EACCES can also mean an existing read-only directory.
int make_parents(const std::string& path) {
  int error = 0;
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), kDirectoryMode) == 0 || errno == EEXIST) {
      error = 0;
      continue;
    }
    if (errno == ENOENT && error != 0) return error;
    error = errno;
    if (error != EROFS && error != EACCES) return error;
  }
  return error;
}

}  // namespace

Fd create_file(const std::string& path, int more_flags) {
  const int flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | more_flags;
  Fd fd(::open(path.c_str(), flags, kFileMode));
  if (fd || errno != ENOENT) return fd;
  const int error = make_parents(path);
  fd.reset(::open(path.c_str(), flags, kFileMode));
  if (!fd && errno == ENOENT && error != 0) errno = error;
  return fd;
}

}  // namespace dlaunch::sys
