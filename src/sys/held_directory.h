// A directory held by a descriptor. Every removal and creation below a path of the user goes through this class.
// Another user may exchange names in the tree at any time, so a path that is used twice can lead to two places. Rules:
// - Names below the directory have no slash, and a symbolic link is never followed.
// - A symbolic link in an opened path is followed if it belongs to this user or root, or if its owner is the only user
//   who can write to its directory, and this directory was not made by its owner in a directory for several users. A
//   link in a directory that all users can write to, without the sticky bit, is never followed. Else the error is
//   ELOOP.
// The functions return 0 or an errno, or an empty value with errno set.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::sys {

class HeldDirectory {
 public:
  HeldDirectory() = default;
  /// An open directory; the mode O_PATH is enough.
  explicit HeldDirectory(Fd fd, bool planted = false) : fd_(std::move(fd)), planted_(planted) {}

  static HeldDirectory open(const std::string& path);
  /// Creates missing directories with `mode`, and appends their paths to `made`.
  static HeldDirectory make(const std::string& path, mode_t mode, std::vector<std::string>* made = nullptr);

  explicit operator bool() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  /// A second descriptor of the same directory, for another owner.
  HeldDirectory copy() const;
  /// Whether another user may have put the directory, or a directory above it, into a directory for several users.
  bool is_planted() const { return planted_; }
  std::optional<struct stat> facts() const;
  /// Reads the metadata of an entry; does not follow a link.
  std::optional<struct stat> facts_of(const std::string& name) const;
  /// The owner that the file system gives to new files of this user: may differ from the user on a network file system.
  std::optional<uid_t> owner_of_new_files() const;
  /// Calls visit(entry) for each entry except "." and ".." until it returns false.
  int for_each_entry(const std::function<bool(const dirent&)>& visit) const;

  HeldDirectory open_below(const std::string& name) const;
  HeldDirectory above() const;
  /// Creates the directory unless it exists.
  HeldDirectory make_below(const std::string& name, mode_t mode) const;
  /// Opens the directory of a relative path without "." and "..", from the directory before its last name.
  HeldDirectory open_parent_below(std::string_view path) const;
  /// EPERM if the directory belongs to another user.
  int set_mode(mode_t mode) const;
  /// Adds permissions of the owner. Returns the mode before; nullopt: no change.
  std::optional<mode_t> add_mode(mode_t permissions) const;
  /// Adds O_NOFOLLOW and O_CLOEXEC to the flags.
  Fd open_file(const std::string& name, int flags, mode_t mode = 0) const;
  int make_link(const std::string& name, const std::string& target) const;
  int rename(const std::string& from, const std::string& to) const;

  int remove_file(const std::string& name) const;
  int remove_empty(const std::string& name) const;
  /// A file, or a directory with its content. ENOENT is an error.
  int remove_tree(const std::string& name) const;
  /// A directory with its content if `is_expected` accepts the open directory; else EPERM.
  int remove_directory(const std::string& name, const std::function<bool(const struct stat&)>& is_expected) const;
  /// Removes the content, except for `kept`: paths relative to this directory. This directory and each directory below
  /// become readable and writable for this user if they belong to the user. After an error, `stays` is the first entry
  /// that could not be removed, also relative; empty: this directory.
  int remove_content(const std::vector<std::string>& kept = {}, std::string* stays = nullptr) const;

  /// As is_locked() of file_lock.h.
  bool is_locked() const;
  /// The relative path of a file or directory below with such a lock, except for `kept` and its directories; empty:
  /// none.
  std::string locked_below(const std::vector<std::string>& kept = {}) const;

  /// An entry below, or this directory, for which remove_content() would fail or should not be called.
  struct Obstacle {
    std::string path;  ///< relative; empty: this directory
    int error = 0;     ///< a mount, or a file or directory that the file system protects (chattr); 0: a lock
  };
  /// The first one found. As locked_below(), without a change of the directory.
  std::optional<Obstacle> obstacle_below(const std::vector<std::string>& kept = {}) const;

 private:
  Fd fd_;
  bool planted_ = false;
};

/// Adds permissions of the owner to a directory of this user, and restores the mode.
class OpenedDirectory {
 public:
  OpenedDirectory(const HeldDirectory& directory, mode_t permissions)
      : directory_(directory.copy()), before_(directory_.add_mode(permissions)) {}
  ~OpenedDirectory() {
    if (before_) directory_.set_mode(*before_);
  }
  OpenedDirectory(const OpenedDirectory&) = delete;
  OpenedDirectory& operator=(const OpenedDirectory&) = delete;

 private:
  const HeldDirectory directory_;
  const std::optional<mode_t> before_;
};

/// The directory of the last name of a path, and this name, which is not examined. Slashes at the end are ignored.
struct HeldPlace {
  HeldDirectory directory;
  std::string name;

  static HeldPlace of(const std::string& path);
  /// As HeldDirectory::make().
  static HeldPlace make(const std::string& path, mode_t mode, std::vector<std::string>* made = nullptr);
  explicit operator bool() const { return static_cast<bool>(directory); }
};

/// Opens the file of a place. A symbolic link in place of the file is followed as in a path.
Fd open_file_at(const HeldPlace& place, int flags, mode_t mode);

bool is_same(const struct stat& one, const struct stat& other);

/// The text of an errno of these functions.
std::string why_not_opened(int error);

}  // namespace dlaunch::sys
