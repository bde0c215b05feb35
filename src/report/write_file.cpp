#include "report/write_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include "output/file_layout.h"
#include "sys/fd.h"
#include "sys/files.h"
#include "sys/held_directory.h"
#include "sys/inherited.h"

namespace dlaunch::report {
namespace {

constexpr int kAttempts = 16;  // attempts to find an unused temporary name

constexpr std::chrono::milliseconds kCheck{10};

/// Returns errno, or 0 on success. The reader of a FIFO may have stopped. A FIFO that is ready takes PIPE_BUF bytes.
int write_text(const sys::Fd& fd, std::string_view text, sys::HelperProcess::Ends ends) {
  while (!text.empty()) {
    std::array ready{pollfd{fd.get(), POLLOUT, 0}, pollfd{ends.in, 0, 0}};
    ::poll(ready.data(), ready.size(), -1);
    if (ready[1].revents != 0) return ECANCELED;
    const ssize_t wrote = ::write(fd.get(), text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (wrote < 0 && errno != EINTR && errno != EAGAIN) return errno;
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(wrote, 0)));
  }
  return 0;
}

/// As write_text(). Closes `fd`, because some file systems report a full disk only on close.
int write_and_close(sys::Fd fd, std::string_view text, const WriteAs& as) {
  int error = write_text(fd, text, as.ends);
  if (error == 0 && as.durable && ::fsync(fd.get()) != 0 && errno != EINVAL) error = errno;  // EINVAL: a pipe
  if (::close(fd.release()) != 0 && error == 0 && errno != EINTR) error = errno;
  return error;
}

/// Copies mode, group and, if permitted, owner from the replaced file.
void take_over(int fd, const sys::HeldPlace& place) {
  auto old = place.directory.facts_of(place.name);
  if (!old) return;
  if (::fchown(fd, old->st_uid, old->st_gid) != 0 && ::fchown(fd, static_cast<uid_t>(-1), old->st_gid) != 0) {
    old->st_mode &= ~static_cast<mode_t>(S_IRWXG);  // the new file has another group
  }
  ::fchmod(fd, old->st_mode & 0777);
}

bool is_special(const sys::HeldPlace& place) {
  const auto facts = place ? place.directory.facts_of(place.name) : std::nullopt;
  return facts && !S_ISREG(facts->st_mode) && !S_ISDIR(facts->st_mode);
}

/// Opens a pipe, device or link.
sys::Fd open_direct(const sys::HeldPlace& place, const std::string& path, const WriteAs& as) {
  for (;;) {
    sys::Fd fd = sys::open_file_at(place, O_WRONLY | O_TRUNC | O_NONBLOCK, as.mode);
    if (fd || errno != ENXIO || Clock::now() >= as.until || as.ends.gave_up() || !sys::is_fifo(path)) return fd;
    std::this_thread::sleep_for(kCheck);
  }
}

/// The file of an inherited descriptor, at the descriptor's own position; empty for other paths, and for pipes and
/// terminals, which may be in non-blocking mode.
sys::Fd inherited_file(const std::string& path) {
  sys::Fd file = sys::named_descriptor(path) ? sys::open_inherited(path) : sys::Fd();
  struct stat facts{};
  return file && ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode) ? std::move(file) : sys::Fd();
}

/// Waits until the process of the claim has created the file; empty after 1 s.
sys::Fd open_claimed(const sys::HeldDirectory& directory, const std::string& name) {
  constexpr int kChecks = 100;
  for (int check = 0;; ++check) {
    sys::Fd file = directory.open_file(name, O_WRONLY | O_TRUNC);
    if (file || errno != ENOENT || check == kChecks) return file;
    std::this_thread::sleep_for(kCheck);
  }
}

/// A file system without support for the sync (EINVAL) is not an error.
void sync_directory(const sys::HeldDirectory& directory) {
  const sys::Fd fd = directory.open_file(".", O_RDONLY | O_DIRECTORY);
  if (fd) ::fsync(fd.get());
}

}  // namespace

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  if (error == ENXIO && sys::is_fifo(path))
    return fail({"", "cannot write " + path, sys::kNoReader, sys::kStartReader, kExitOutput});
  const char* const hint =
      error == ENOENT ? "use a path in an existing directory" : "use a path in a directory that you may write to";
  return fail({"", "cannot write " + path, sys::why_not_opened(error), hint, kExitOutput});
}

Result<void> check_can_write(const std::string& path) {
  if (sys::named_descriptor(path) && !sys::open_inherited(path)) return cannot_write(path, errno);
  struct stat facts{};
  const bool there = ::stat(path.c_str(), &facts) == 0;
  if (path.ends_with('/') || (there && S_ISDIR(facts.st_mode))) return cannot_write(path, EISDIR);
  const sys::HeldPlace place = sys::HeldPlace::of(path);
  if (!place) return cannot_write(path, errno);
  const bool can = is_special(place) ? ::access(path.c_str(), W_OK) == 0
                                     : ::faccessat(place.directory.fd(), ".", W_OK | X_OK, 0) == 0;
  return can ? Result<void>() : cannot_write(path, errno);
}

bool is_replaced(const std::string& path) {
  return !sys::named_descriptor(path) && !is_special(sys::HeldPlace::of(path));
}

Result<void> write_file_atomically(const std::string& path, std::string_view text, WriteAs as) {
  const sys::HeldPlace place = sys::HeldPlace::of(path);
  if (!place) return cannot_write(path, errno);
  sys::Fd fd = inherited_file(path);
  const bool direct = fd || is_special(place);
  std::random_device random;
  std::string written = place.name;
  if (!direct && as.claimed) {
    written = output::claimed_name(place.name);
    fd = open_claimed(place.directory, written);
  }
  for (int attempt = 0; !fd && attempt < kAttempts; ++attempt) {
    if (!direct) written = place.name + "." + std::to_string(random()) + ".tmp";
    fd = direct ? open_direct(place, path, as)
                : place.directory.open_file(written, O_WRONLY | O_CREAT | O_EXCL, as.mode);
    if (!fd && (direct || errno != EEXIST)) break;
  }
  if (!fd) return cannot_write(path, errno);
  if (!direct) take_over(fd.get(), place);
  int error = write_and_close(std::move(fd), text, as);
  if (direct) return error == 0 ? Result<void>() : cannot_write(path, error);
  if (error == 0 && as.ends.gave_up()) error = ECANCELED;
  if (error == 0) error = place.directory.rename(written, place.name);
  if (error != 0) {
    place.directory.remove_file(written);
    return cannot_write(path, error);
  }
  if (as.durable) sync_directory(place.directory);
  return {};
}

}  // namespace dlaunch::report
