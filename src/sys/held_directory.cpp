#include "sys/held_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sys/directory.h"
#include "sys/path_walk.h"
#include "sys/randomness.h"

namespace dlaunch::sys {
namespace {

constexpr mode_t kProbeMode = 0600;
constexpr size_t kProbeName = 8;

int result_of(int status) { return status == 0 ? 0 : errno; }

}  // namespace

HeldDirectory HeldDirectory::open(const std::string& path) { return HeldDirectory(walk(path, std::nullopt)); }

HeldDirectory HeldDirectory::make(const std::string& path, mode_t mode) { return HeldDirectory(walk(path, mode)); }

HeldDirectory HeldDirectory::copy() const { return HeldDirectory(Fd(::fcntl(fd(), F_DUPFD_CLOEXEC, 0))); }

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
  return HeldDirectory(Fd(::openat(fd(), name.c_str(), kDirectoryFlags | O_NOFOLLOW)));
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
  if (!facts) return errno;
  if (!is_expected(*facts)) return EPERM;
  const int content = below.remove_content();
  const int directory = remove_empty(name);
  return directory != 0 && content != 0 ? content : directory;
}

HeldPlace HeldPlace::of(const std::string& path) {
  auto [directory, name] = split_last(path);
  return {HeldDirectory::open(directory), std::move(name)};
}

HeldPlace HeldPlace::make(const std::string& path, mode_t mode) {
  auto [directory, name] = split_last(path);
  return {HeldDirectory::make(directory, mode), std::move(name)};
}

Fd open_file_at(const HeldPlace& place, int flags, mode_t mode) {
  Fd directory(::fcntl(place.directory.fd(), F_DUPFD_CLOEXEC, 0));
  std::string name = place.name;
  for (int links = 0; directory && links <= kMostLinks; ++links) {
    Fd file(::openat(directory.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
    if (file || errno != ELOOP) return file;
    if (is_in_proc(directory)) return Fd(::openat(directory.get(), name.c_str(), flags | O_CLOEXEC, mode));
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

}  // namespace dlaunch::sys
