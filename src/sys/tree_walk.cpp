#include "sys/tree_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sys/fd.h"
#include "sys/file_lock.h"

namespace dlaunch::sys {
namespace {

constexpr mode_t kReadable = S_IRUSR | S_IXUSR;

/// Attributes of the file system and of mounts, without a question to the server of a network file system. `name`: of
/// an entry of the directory `fd`; empty: of `fd`, which is faster.
std::optional<struct statx> attributes_of(int fd, const char* name = "") {
  struct statx its{};
  const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW | (*name == '\0' ? AT_EMPTY_PATH : 0);
  return ::statx(fd, name, flags, 0, &its) == 0 ? std::optional(its) : std::nullopt;
}

/// Whether something is mounted here. Before Linux 5.8, only a mount of another file system than `above` is known.
bool is_mount(const struct statx& its, const struct stat& above) {
  if ((its.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) {
    return makedev(its.stx_dev_major, its.stx_dev_minor) != above.st_dev;
  }
  return (its.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/// Whether the file system protects a file from removal, and a directory also from the removal of its content.
bool is_protected(const struct statx& its) {
  return (its.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0;
}

}  // namespace

int TreeWalk::run() {
  if (!enter("")) return errno;
  bool in_place = true;
  while (in_place && !found_) {
    if (!levels_.back().directories.empty()) {
      descend();
    } else if (levels_.size() == 1) {
      break;
    } else {
      in_place = ascend();
    }
  }
  while (in_place && levels_.size() > 1) in_place = ascend();  // restores modes
  if (in_place && levels_.front().closed) at_.set_mode(*levels_.front().closed);
  return stays_.error;
}

void TreeWalk::note(Entry& stays, Entry entry) {
  if (stays.error == 0) stays = std::move(entry);
}

/// An entry of the directory is the reason, if known.
void TreeWalk::note_stays(const Level& left, int error) {
  note(stays_, left.stays.error != 0 ? left.stays : Entry{error, path_of(left)});
}

/// `error` is 0 after a lock.
void TreeWalk::note_found(std::string path, int error) {
  if (!found_) found_ = HeldDirectory::Obstacle{std::move(path), error};
}

bool TreeWalk::is_kept(const std::string& path) const { return std::ranges::find(kept_, path) != kept_.end(); }

bool TreeWalk::holds_kept(const std::string& prefix) const {
  return std::ranges::any_of(kept_, [&](const std::string& path) { return path.starts_with(prefix); });
}

std::string TreeWalk::path_of(const Level& level) const {
  return prefix_.substr(0, std::max<size_t>(level.prefix, 1) - 1);
}

/// Removes or examines the files of at_ and notes its directories.
bool TreeWalk::enter(const std::string& name) {
  const auto facts = at_.facts();
  if (!facts) return false;
  Level level{*facts, name, prefix_.size(), {}, {}};
  if (examines_) examine(level);
  if (removes_) {
    at_.add_mode(S_IRWXU);
  } else if ((facts->st_mode & kReadable) != kReadable && !find_lock_of_job()) {
    level.closed = at_.add_mode(kReadable);
  }
  const int error = at_.for_each_entry([&](const dirent& entry) {
    if (!kept_.empty() && is_kept(prefix_ + entry.d_name)) return true;
    const int failed = entry.d_type == DT_DIR ? EISDIR : take_file(entry);
    if (failed == EISDIR) {
      level.directories.emplace_back(entry.d_name);
    } else if (failed != 0 && failed != ENOENT) {
      note(level.stays, {failed, prefix_ + entry.d_name});
    }
    return !found_;
  });
  if (error != 0) level.stays = {error, path_of(level)};
  levels_.push_back(std::move(level));
  if (levels_.size() == 1) stays_ = levels_.back().stays;
  return true;
}

/// Does not change the mode of a running job's directory: the disk may hang before the mode is restored.
bool TreeWalk::find_lock_of_job() {
  for (const std::string& name : locked_by_jobs(at_.fd())) {
    const std::string path = prefix_ + name;
    if (!is_kept(path) && !holds_kept(path + '/')) note_found(path);
  }
  return found_.has_value();
}

void TreeWalk::examine(const Level& level) {
  const auto its = attributes_of(at_.fd());
  if (its && is_protected(*its)) note_found(path_of(level), EPERM);
}

/// `file` may be empty.
void TreeWalk::examine_file(const Fd& file, const dirent& entry) {
  const auto its = file ? attributes_of(file.get()) : attributes_of(at_.fd(), entry.d_name);
  if (!its) return;
  if ((its->stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) note_found(prefix_ + entry.d_name, EBUSY);
  if (is_protected(*its)) note_found(prefix_ + entry.d_name, EPERM);
}

/// EISDIR: the entry is a directory.
int TreeWalk::take_file(const dirent& entry) {
  if (removes_) return at_.remove_file(entry.d_name);
  const auto facts = entry.d_type == DT_REG ? std::nullopt : at_.facts_of(entry.d_name);
  if (facts && S_ISDIR(facts->st_mode)) return EISDIR;
  const bool regular = entry.d_type == DT_REG || (facts && S_ISREG(facts->st_mode));
  const Fd file = regular ? at_.open_file(entry.d_name, O_RDONLY | O_NONBLOCK) : Fd();
  if (examines_) examine_file(file, entry);
  if (!regular) return 0;
  const auto unread = file ? std::nullopt : at_.facts_of(entry.d_name);
  if (file ? is_locked(file) : unread && is_locked(*unread)) note_found(prefix_ + entry.d_name);
  return 0;
}

void TreeWalk::descend() {
  Level& level = levels_.back();
  const std::string name = std::move(level.directories.back());
  level.directories.pop_back();
  HeldDirectory below = at_.open_below(name);
  if (!below) {  // exchanged since it was listed
    const int failed = errno == ENOENT || !removes_ ? 0 : at_.remove_file(name);
    if (failed != 0 && failed != ENOENT) note(stays_, {failed, prefix_ + name});
    return;
  }
  const auto its = removes_ || examines_ ? attributes_of(below.fd()) : std::nullopt;
  if (its && is_mount(*its, level.facts)) {  // does not enter: its disk may not respond
    return examines_ ? note_found(prefix_ + name, EBUSY) : note(stays_, {EBUSY, prefix_ + name});
  }
  prefix_ += name + '/';
  if (!removes_ && !holds_kept(prefix_) && below.is_locked()) note_found(prefix_.substr(0, prefix_.size() - 1));
  HeldDirectory above = std::exchange(at_, std::move(below));
  if (enter(name)) return;
  at_ = std::move(above);
  prefix_.resize(levels_.back().prefix);
}

bool TreeWalk::ascend() {
  const Level left = std::move(levels_.back());
  levels_.pop_back();
  const HeldDirectory below = std::exchange(at_, at_.above());
  if (left.closed) below.set_mode(*left.closed);
  const auto facts = at_ ? at_.facts() : std::nullopt;
  if (!facts || !is_same(*facts, levels_.back().facts)) {
    note_stays(left, facts ? ESTALE : errno);
    return false;
  }
  if (!removes_ || holds_kept(prefix_)) {
    note(stays_, left.stays);
  } else if (const int failed = at_.remove_empty(left.name); failed != 0 && failed != ENOENT) {
    note_stays(left, failed);
  }
  prefix_.resize(levels_.back().prefix);
  return true;
}

}  // namespace dlaunch::sys
