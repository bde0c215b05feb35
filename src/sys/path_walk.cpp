#include "sys/path_walk.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

namespace dlaunch::sys {
namespace {

Fd open_root() { return Fd(::open("/", kDirectoryFlags)); }

Fd open_start(const std::string& path, const Fd& start) {
  if (path.empty()) errno = ENOENT;
  if (path.empty()) return {};
  if (path.front() == '/') return open_root();
  return start ? Fd(::fcntl(start.get(), F_DUPFD_CLOEXEC, 0)) : Fd(::open(".", kDirectoryFlags));
}

/// Removes the first name from `rest`.
std::string take_name(std::string& rest) {
  const size_t begin = std::min(rest.find_first_not_of('/'), rest.size());
  const size_t end = std::min(rest.find('/', begin), rest.size());
  std::string name = rest.substr(begin, end - begin);
  rest.erase(0, end);
  return name;
}

Fd open_or_make(const Fd& at, const std::string& name, std::optional<mode_t> missing) {
  Fd next(::openat(at.get(), name.c_str(), kDirectoryFlags | O_NOFOLLOW));
  if (next || errno != ENOENT || !missing) return next;
  if (::mkdirat(at.get(), name.c_str(), *missing) != 0 && errno != EEXIST) return {};
  next.reset(::openat(at.get(), name.c_str(), kDirectoryFlags | O_NOFOLLOW));
  return next;
}

/// The owner of "/" is root, also in a user namespace that has no root. A link in a directory that only the link's
/// owner can write to is as good as the directory itself: the owner can replace both.
bool is_trusted(const struct stat& link, const struct stat& directory) {
  struct stat root{};
  const bool by_root = link.st_uid == 0 || (::stat("/", &root) == 0 && link.st_uid == root.st_uid);
  const bool for_all = (directory.st_mode & S_IWOTH) != 0 && (directory.st_mode & S_ISVTX) == 0;
  const bool by_sole_writer = link.st_uid == directory.st_uid && (directory.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return (by_root || by_sole_writer || link.st_uid == ::geteuid()) && !for_all;
}

}  // namespace

bool is_in_proc(const Fd& directory) {
  struct statfs facts{};
  return ::fstatfs(directory.get(), &facts) == 0 && facts.f_type == PROC_SUPER_MAGIC;
}

std::optional<std::string> trusted_target(const Fd& directory, const std::string& name) {
  const Fd link(::openat(directory.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts{};
  struct stat above{};
  if (!link || ::fstat(link.get(), &facts) != 0 || ::fstat(directory.get(), &above) != 0) return std::nullopt;
  if (!S_ISLNK(facts.st_mode) || !is_trusted(facts, above)) {
    errno = S_ISLNK(facts.st_mode) ? ELOOP : ENOTDIR;
    return std::nullopt;
  }
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlinkat(link.get(), "", text.data(), text.size());
  if (size < 0) return std::nullopt;
  return std::string(text.data(), static_cast<size_t>(size));
}

Fd walk(const std::string& path, std::optional<mode_t> missing, const Fd& start) {
  Fd at = open_start(path, start);
  int links = 0;
  for (std::string rest = path; at && !rest.empty();) {
    const std::string name = take_name(rest);
    if (name.empty() || name == ".") continue;
    Fd next = open_or_make(at, name, missing);
    if (!next && (errno == ENOTDIR || errno == ELOOP)) {
      if (is_in_proc(at)) {
        next.reset(::openat(at.get(), name.c_str(), kDirectoryFlags));
      } else {
        const auto target = trusted_target(at, name);
        if (!target) return {};
        if (++links > kMostLinks) errno = ELOOP;
        if (links > kMostLinks) return {};
        rest.insert(0, *target + '/');
        if (target->starts_with('/')) at = open_root();
        continue;
      }
    }
    at = std::move(next);
  }
  return at;
}

std::pair<std::string, std::string> split_last(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  if (end == path.npos) return {path.empty() ? "" : "/", "."};
  const size_t slash = path.rfind('/', end);
  if (slash == path.npos) return {".", path.substr(0, end + 1)};
  return {path.substr(0, slash + 1), path.substr(slash + 1, end - slash)};
}

}  // namespace dlaunch::sys
