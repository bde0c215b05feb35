#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sys/held_directory.h"

namespace dlaunch::sys {
namespace {

/// Removes the content of a directory of any depth with few descriptors. The way back up is "..": a directory that was
/// moved meanwhile has another parent, with another device or inode.
class TreeRemoval {
 public:
  TreeRemoval(HeldDirectory top, const std::vector<std::string>& kept) : at_(std::move(top)), kept_(kept) {}

  int run() {
    if (!enter("", "")) return errno;
    for (;;) {
      if (!levels_.back().directories.empty()) {
        descend();
      } else if (levels_.size() == 1) {
        return error_;
      } else if (!ascend()) {
        return errno;
      }
    }
  }

 private:
  struct Level {
    struct stat facts;
    std::string name;
    std::string prefix;                    // of names in kept_: empty or "a/b/"
    std::vector<std::string> directories;  // not yet removed
    int error = 0;                         // of an entry that stays
  };

  bool is_kept(const std::string& path) const { return std::ranges::find(kept_, path) != kept_.end(); }
  bool holds_kept(const std::string& prefix) const {
    return std::ranges::any_of(kept_, [&](const std::string& path) { return path.starts_with(prefix); });
  }

  /// Removes the files of at_ and notes its directories.
  bool enter(const std::string& name, std::string prefix) {
    const auto facts = at_.facts();
    if (!facts) return false;
    Level level{*facts, name, std::move(prefix), {}};
    const int error = at_.for_each_entry([&](const dirent& entry) {
      const std::string path = level.prefix + entry.d_name;
      if (is_kept(path)) return true;
      const int failed = entry.d_type == DT_DIR ? EISDIR : at_.remove_file(entry.d_name);
      if (failed == EISDIR) {
        level.directories.emplace_back(entry.d_name);
      } else if (failed != 0 && failed != ENOENT) {
        level.error = failed;
      }
      return true;
    });
    if (error != 0) level.error = error;
    levels_.push_back(std::move(level));
    if (levels_.size() == 1) error_ = levels_.back().error;
    return true;
  }

  void descend() {
    Level& level = levels_.back();
    const std::string name = std::move(level.directories.back());
    level.directories.pop_back();
    HeldDirectory below = at_.open_below(name);
    if (!below) {  // exchanged since it was listed
      const int failed = errno == ENOENT ? 0 : at_.remove_file(name);
      if (failed != 0 && failed != ENOENT && error_ == 0) error_ = failed;
      return;
    }
    HeldDirectory above = std::exchange(at_, std::move(below));
    if (!enter(name, level.prefix + name + '/')) at_ = std::move(above);
  }

  bool ascend() {
    const Level left = std::move(levels_.back());
    levels_.pop_back();
    at_ = at_.above();
    const auto facts = at_ ? at_.facts() : std::nullopt;
    if (!facts) return false;
    if (!is_same(*facts, levels_.back().facts)) {
      errno = ESTALE;
      return false;
    }
    if (holds_kept(left.prefix)) {
      if (error_ == 0) error_ = left.error;
      return true;
    }
    const int failed = at_.remove_empty(left.name);
    if (failed != 0 && failed != ENOENT && error_ == 0) error_ = left.error != 0 ? left.error : failed;
    return true;
  }

  HeldDirectory at_;
  const std::vector<std::string>& kept_;
  std::vector<Level> levels_;
  int error_ = 0;
};

}  // namespace

int HeldDirectory::remove_content(const std::vector<std::string>& kept) const {
  HeldDirectory top = copy();
  if (!top) return errno;
  return TreeRemoval(std::move(top), kept).run();
}

}  // namespace dlaunch::sys
