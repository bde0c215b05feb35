#include "report/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

#include "sys/io.h"

namespace dlaunch::report {
namespace {

constexpr int kAttempts = 16;  // at a name that nobody has

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return fail(
      {path, "cannot write", std::strerror(error), "give a path in a directory that you can write to", kExitOutput});
}

/// errno, 0 when all was written. Closes `fd`: some file systems tell of a full disk only then.
int write_and_close(int fd, std::string_view text) {
  int error = sys::write_all(fd, text) ? 0 : errno;
  if (::close(fd) != 0 && error == 0 && errno != EINTR) error = errno;
  return error;
}

bool is_special(const std::string& path) {
  struct stat facts{};
  return ::lstat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<void> check_can_write(const std::string& path) {
  struct stat facts{};
  const bool there = ::stat(path.c_str(), &facts) == 0;
  if (path.ends_with('/') || (there && S_ISDIR(facts.st_mode))) return cannot_write(path, EISDIR);
  const bool can =
      is_special(path) ? ::access(path.c_str(), W_OK) == 0 : ::access(directory_of(path).c_str(), W_OK | X_OK) == 0;
  return can ? Result<void>() : cannot_write(path, errno);
}

bool is_replaced(const std::string& path) { return !is_special(path); }

Result<void> write_file_atomically(const std::string& path, std::string_view text) {
  const bool direct = is_special(path);
  std::random_device random;
  std::string written = path;
  int fd = -1;
  for (int attempt = 0; fd < 0 && attempt < kAttempts; ++attempt) {
    if (!direct) written = path + "." + std::to_string(random()) + ".tmp";
    const int flags = O_WRONLY | O_CLOEXEC | (direct ? O_TRUNC : O_CREAT | O_EXCL);
    fd = ::open(written.c_str(), flags, 0666);
    if (fd < 0 && (direct || errno != EEXIST)) break;
  }
  if (fd < 0) return cannot_write(path, errno);
  int error = write_and_close(fd, text);
  if (direct) return error == 0 ? Result<void>() : cannot_write(path, error);
  if (error == 0 && std::rename(written.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(written.c_str());
  return cannot_write(path, error);
}

}  // namespace dlaunch::report
