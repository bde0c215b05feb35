#include "report/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "sys/fd.h"
#include "sys/io.h"

namespace dlaunch::report {
namespace {

constexpr int kAttempts = 16;  // attempts to find an unused temporary name

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  const char* const hint =
      error == ENOENT ? "use a path in an existing directory" : "use a path in a directory that you may write to";
  return fail({"", "cannot write " + path, std::strerror(error), hint, kExitOutput});
}

/// Returns errno, or 0 on success. Closes `fd`, because some file systems report a full disk only on close.
int write_and_close(sys::Fd fd, std::string_view text, bool durable) {
  int error = sys::write_all(fd.get(), text) ? 0 : errno;
  if (error == 0 && durable && ::fsync(fd.get()) != 0 && errno != EINVAL) error = errno;  // EINVAL: a pipe
  if (::close(fd.release()) != 0 && error == 0 && errno != EINTR) error = errno;
  return error;
}

/// Copies mode, group and, if permitted, owner from the replaced file.
void take_over(int fd, const std::string& path) {
  struct stat old{};
  if (::lstat(path.c_str(), &old) != 0) return;
  if (::fchown(fd, old.st_uid, old.st_gid) != 0 && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) {
    old.st_mode &= ~static_cast<mode_t>(S_IRWXG);  // the new file has another group
  }
  ::fchmod(fd, old.st_mode & 0777);
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

/// A file system without support for the sync (EINVAL) is not an error.
void sync_directory(const std::string& directory) {
  const sys::Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
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

Result<void> write_file_atomically(const std::string& path, std::string_view text, WriteAs as) {
  const bool direct = is_special(path);
  std::random_device random;
  std::string written = path;
  sys::Fd fd;
  for (int attempt = 0; !fd && attempt < kAttempts; ++attempt) {
    if (!direct) written = path + "." + std::to_string(random()) + ".tmp";
    const int flags = O_WRONLY | O_CLOEXEC | (direct ? O_TRUNC : O_CREAT | O_EXCL);
    fd.reset(::open(written.c_str(), flags, as.mode));
    if (!fd && (direct || errno != EEXIST)) break;
  }
  if (!fd) return cannot_write(path, errno);
  if (!direct) take_over(fd.get(), path);
  int error = write_and_close(std::move(fd), text, as.durable);
  if (direct) return error == 0 ? Result<void>() : cannot_write(path, error);
  if (error == 0 && std::rename(written.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(written.c_str());
    return cannot_write(path, error);
  }
  if (as.durable) sync_directory(directory_of(path));
  return {};
}

}  // namespace dlaunch::report
