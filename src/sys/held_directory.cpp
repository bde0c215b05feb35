#include "sys/held_directory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "sys/file_lock.h"
#include "sys/files.h"
#include "sys/randomness.h"
#include "sys/tree_walk.h"

namespace dlaunch::sys {
namespace {

// Resolves a path name by name, so that each symbolic link can be examined.

constexpr int kDirectoryFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
constexpr int kMostLinks = 40;  // in one path, as in the kernel

HeldDirectory open_root() { return HeldDirectory(Fd(::open("/", kDirectoryFlags))); }

/// Removes the first name from `rest`.
std::string take_name(std::string& rest) {
  const size_t begin = std::min(rest.find_first_not_of('/'), rest.size());
  const size_t end = std::min(rest.find('/', begin), rest.size());
  std::string name = rest.substr(begin, end - begin);
  rest.erase(0, end);
  return name;
}

/// Missing directories are created with `mode`.
struct Missing {
  mode_t mode;
  std::vector<std::string>* made;  // receives their paths; null: nothing
};

Fd open_or_make(const HeldDirectory& at, const std::string& name, const std::optional<Missing>& missing) {
  Fd next(::openat(at.fd(), name.c_str(), kDirectoryFlags | O_NOFOLLOW));
  if (next || errno != ENOENT || !missing) return next;
  const bool is_made = ::mkdirat(at.fd(), name.c_str(), missing->mode) == 0;
  if (!is_made && errno != EEXIST) return {};
  next.reset(::openat(at.fd(), name.c_str(), kDirectoryFlags | O_NOFOLLOW));
  if (next && is_made && missing->made) {
    missing->made->push_back(link_target("/proc/self/fd/" + std::to_string(next.get())));
  }
  return next;
}

/// Whether a file belongs to this user or root. The owner of "/" is root, also in a user namespace that has no root.
bool is_ours(const struct stat& file) {
  struct stat root{};
  return file.st_uid == 0 || file.st_uid == ::geteuid() || (::stat("/", &root) == 0 && file.st_uid == root.st_uid);
}

bool others_write(const struct stat& directory) { return (directory.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

/// The directory `next`, opened in `at`. An own directory in a directory for several users is not planted.
HeldDirectory entered(const HeldDirectory& at, Fd next) {
  struct stat facts{};
  if (!next || ::fstat(next.get(), &facts) != 0) return {};
  if (is_ours(facts)) return HeldDirectory(std::move(next));
  const auto above = at.facts();
  if (!above) return {};
  return HeldDirectory(std::move(next), at.is_planted() || others_write(*above));
}

/// As entered(), without a walk from "/".
bool working_directory_is_planted() {
  HeldDirectory at(Fd(::open(".", kDirectoryFlags)));
  for (auto facts = at.facts(); facts && !is_ours(*facts); facts = at.facts()) {
    at = HeldDirectory(Fd(::openat(at.fd(), "..", kDirectoryFlags)));
    const auto above = at.facts();
    if (!above || others_write(*above)) return true;
    if (is_same(*facts, *above)) return false;
  }
  return false;
}

HeldDirectory open_start(const std::string& path, const HeldDirectory& start) {
  if (path.starts_with('/')) return open_root();
  if (!path.empty() && start) return start.copy();
  if (!path.empty()) return HeldDirectory(Fd(::open(".", kDirectoryFlags)), working_directory_is_planted());
  errno = ENOENT;
  return {};
}

/// A link is as safe as its directory if only the link's owner can write to the directory: the owner can replace both.
bool is_trusted(const struct stat& link, const struct stat& directory, bool planted) {
  const bool for_all = (directory.st_mode & S_IWOTH) != 0 && (directory.st_mode & S_ISVTX) == 0;
  const bool by_sole_writer = link.st_uid == directory.st_uid && !others_write(directory) && !planted;
  return (is_ours(link) || by_sole_writer) && !for_all;
}

/// A link of /proc leads to its object, not to the path in its text.
bool is_in_proc(const HeldDirectory& directory) {
  struct statfs facts{};
  return ::fstatfs(directory.fd(), &facts) == 0 && facts.f_type == PROC_SUPER_MAGIC;
}

/// The target of the link `name` if the link can be trusted; nullopt with errno set.
std::optional<std::string> trusted_target(const HeldDirectory& directory, const std::string& name) {
  const Fd link(::openat(directory.fd(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts{};
  const auto above = directory.facts();
  if (!link || ::fstat(link.get(), &facts) != 0 || !above) return std::nullopt;
  if (!S_ISLNK(facts.st_mode) || !is_trusted(facts, *above, directory.is_planted())) {
    errno = S_ISLNK(facts.st_mode) ? ELOOP : ENOTDIR;
    return std::nullopt;
  }
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlinkat(link.get(), "", text.data(), text.size());
  if (size < 0) return std::nullopt;
  return std::string(text.data(), static_cast<size_t>(size));
}

/// Opens the directory of a path with O_PATH. errno is ELOOP after an untrusted link.
HeldDirectory walk(const std::string& path, const std::optional<Missing>& missing, const HeldDirectory& start = {}) {
  HeldDirectory at = open_start(path, start);
  int links = 0;
  for (std::string rest = path; at && !rest.empty();) {
    const std::string name = take_name(rest);
    if (name.empty() || name == ".") continue;
    Fd next = open_or_make(at, name, missing);
    if (!next && (errno == ENOTDIR || errno == ELOOP)) {
      if (is_in_proc(at)) {
        next.reset(::openat(at.fd(), name.c_str(), kDirectoryFlags));
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
    at = entered(at, std::move(next));
  }
  return at;
}

/// "a/b/" gives "a" and "b". The directory of a single name is ".".
std::pair<std::string, std::string> split_last(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  if (end == path.npos) return {path.empty() ? "" : "/", "."};
  const size_t slash = path.rfind('/', end);
  if (slash == path.npos) return {".", path.substr(0, end + 1)};
  return {path.substr(0, slash + 1), path.substr(slash + 1, end - slash)};
}

constexpr mode_t kProbeMode = 0600;
constexpr size_t kProbeName = 8;

int result_of(int status) { return status == 0 ? 0 : errno; }

}  // namespace

HeldDirectory HeldDirectory::open(const std::string& path) { return walk(path, std::nullopt); }

HeldDirectory HeldDirectory::make(const std::string& path, mode_t mode, std::vector<std::string>* made) {
  return walk(path, Missing{mode, made});
}

HeldDirectory HeldDirectory::copy() const { return HeldDirectory(Fd(::fcntl(fd(), F_DUPFD_CLOEXEC, 0)), planted_); }

std::optional<struct stat> HeldDirectory::facts() const {
  struct stat facts{};
  if (::fstat(fd(), &facts) != 0) return std::nullopt;
  return facts;
}

std::optional<struct stat> HeldDirectory::facts_of(const std::string& name) const {
  struct stat facts{};
  if (::fstatat(fd(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return facts;
}

std::optional<uid_t> HeldDirectory::owner_of_new_files() const {
  const std::string name = ".dlaunch-" + random_hex(kProbeName);
  const Fd file = open_file(name, O_WRONLY | O_CREAT | O_EXCL, kProbeMode);
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) return std::nullopt;
  remove_file(name);
  return facts.st_uid;
}

int HeldDirectory::for_each_entry(const std::function<bool(const dirent&)>& visit) const {
  return sys::for_each_entry(Fd(::openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), visit);
}

HeldDirectory HeldDirectory::open_below(const std::string& name) const {
  return entered(*this, Fd(::openat(fd(), name.c_str(), kDirectoryFlags | O_NOFOLLOW)));
}

HeldDirectory HeldDirectory::above() const { return open_below(".."); }

HeldDirectory HeldDirectory::make_below(const std::string& name, mode_t mode) const {
  if (::mkdirat(fd(), name.c_str(), mode) != 0 && errno != EEXIST) return {};
  return open_below(name);
}

HeldDirectory HeldDirectory::open_parent_below(std::string_view path) const {
  HeldDirectory at = copy();
  for (size_t slash = path.find('/'); at && slash != path.npos; slash = path.find('/')) {
    at = at.open_below(std::string(path.substr(0, slash)));
    path.remove_prefix(slash + 1);
  }
  return at;
}

int HeldDirectory::set_mode(mode_t mode) const {
  const auto before = facts();
  if (!before) return errno;
  if (before->st_uid != ::geteuid()) return EPERM;
  constexpr mode_t kAll = 07777;
  const std::string self = "/proc/self/fd/" + std::to_string(fd());  // fchmod() rejects a descriptor of O_PATH
  return result_of(::chmod(self.c_str(), mode & kAll));
}

std::optional<mode_t> HeldDirectory::add_mode(mode_t permissions) const {
  const auto before = facts();
  const bool missing = before && (before->st_mode & permissions) != permissions;
  return missing && set_mode(before->st_mode | permissions) == 0 ? std::optional(before->st_mode) : std::nullopt;
}

Fd HeldDirectory::open_file(const std::string& name, int flags, mode_t mode) const {
  return Fd(::openat(fd(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
}

int HeldDirectory::make_link(const std::string& name, const std::string& target) const {
  return result_of(::symlinkat(target.c_str(), fd(), name.c_str()));
}

int HeldDirectory::rename(const std::string& from, const std::string& to) const {
  return result_of(::renameat(fd(), from.c_str(), fd(), to.c_str()));
}

int HeldDirectory::remove_file(const std::string& name) const { return result_of(::unlinkat(fd(), name.c_str(), 0)); }

int HeldDirectory::remove_empty(const std::string& name) const {
  return result_of(::unlinkat(fd(), name.c_str(), AT_REMOVEDIR));
}

int HeldDirectory::remove_tree(const std::string& name) const {
  const int error = remove_file(name);
  if (error != EISDIR) return error;
  return remove_directory(name, [](const struct stat&) { return true; });
}

int HeldDirectory::remove_directory(const std::string& name,
                                    const std::function<bool(const struct stat&)>& is_expected) const {
  const HeldDirectory below = open_below(name);
  const auto facts = below ? below.facts() : std::nullopt;
  if (!facts || !is_expected(*facts)) return facts ? EPERM : errno;
  const int content = below.remove_content();
  const int directory = remove_empty(name);
  return directory != 0 && content != 0 ? content : directory;
}

HeldPlace HeldPlace::of(const std::string& path) {
  auto [directory, name] = split_last(path);
  return {HeldDirectory::open(directory), std::move(name)};
}

HeldPlace HeldPlace::make(const std::string& path, mode_t mode, std::vector<std::string>* made) {
  auto [directory, name] = split_last(path);
  return {HeldDirectory::make(directory, mode, made), std::move(name)};
}

Fd open_file_at(const HeldPlace& place, int flags, mode_t mode) {
  HeldDirectory directory = place.directory.copy();
  std::string name = place.name;
  for (int links = 0; directory && links <= kMostLinks; ++links) {
    Fd file = directory.open_file(name, flags, mode);
    if (file || errno != ELOOP) return file;
    if (is_in_proc(directory)) return Fd(::openat(directory.fd(), name.c_str(), flags | O_CLOEXEC, mode));
    const auto target = trusted_target(directory, name);
    if (!target) return {};
    auto [above, last] = split_last(*target);
    directory = walk(above, std::nullopt, directory);
    name = std::move(last);
  }
  if (directory) errno = ELOOP;
  return {};
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

std::string why_not_opened(int error) {
  return error == ELOOP ? "too many symbolic links, or a symbolic link that another user may have made"
                        : std::strerror(error);
}

int HeldDirectory::remove_content(const std::vector<std::string>& kept, std::string* stays) const {
  HeldDirectory top = copy();
  if (!top) return errno;
  TreeWalk walk(TreeWalk::Task::remove, std::move(top), kept);
  const int error = walk.run();
  if (stays) *stays = walk.stays();
  return error;
}

bool HeldDirectory::is_locked() const { return sys::is_locked(open_file(".", O_RDONLY | O_DIRECTORY)); }

std::string HeldDirectory::locked_below(const std::vector<std::string>& kept) const {
  TreeWalk walk(TreeWalk::Task::find_lock, copy(), kept);
  walk.run();
  return walk.found() ? walk.found()->path : "";
}

std::optional<HeldDirectory::Obstacle> HeldDirectory::obstacle_below(const std::vector<std::string>& kept) const {
  TreeWalk walk(TreeWalk::Task::find_obstacle, copy(), kept);
  walk.run();
  return walk.found();
}

}  // namespace dlaunch::sys
