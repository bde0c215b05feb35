// Removes the content of a directory, or looks for locks and other obstacles in it, with few descriptors at any depth.
// The way back up is "..": a directory that was moved meanwhile has another parent, with another device or inode. The
// work of the functions of HeldDirectory.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sys/held_directory.h"

namespace dlaunch::sys {

class TreeWalk {
 public:
  enum class Task { remove, find_lock, find_obstacle };

  TreeWalk(Task task, HeldDirectory top, const std::vector<std::string>& kept)
      : removes_(task == Task::remove), examines_(task == Task::find_obstacle), at_(std::move(top)), kept_(kept) {}

  /// Returns an errno of a removal.
  int run();
  /// The first lock, or other obstacle.
  const std::optional<HeldDirectory::Obstacle>& found() const { return found_; }
  /// The first entry that stays, relative to the directory.
  const std::string& stays() const { return stays_.path; }

 private:
  struct Entry {
    int error = 0;
    std::string path;
  };
  struct Level {
    struct stat facts;
    std::string name;
    size_t prefix;                         // size of prefix_ at this level
    std::vector<std::string> directories;  // not yet removed
    Entry stays;
    std::optional<mode_t> closed = {};  // the mode to restore
  };

  static void note(Entry& stays, Entry entry);
  std::string path_of(const Level& level) const;
  void note_stays(const Level& left, int error);
  void note_found(std::string path, int error = 0);
  bool is_kept(const std::string& path) const;
  bool holds_kept(const std::string& prefix) const;
  bool enter(const std::string& name);
  bool find_lock_of_job();
  void examine(const Level& level);
  void examine_file(const Fd& file, const dirent& entry);
  int take_file(const dirent& entry);
  void descend();
  bool ascend();

  const bool removes_;
  const bool examines_;  // also attributes and mounts
  HeldDirectory at_;
  std::string prefix_;  // of names in at_: empty or "a/b/"; one for all levels, because a tree may be deep
  const std::vector<std::string>& kept_;
  std::vector<Level> levels_;
  std::optional<HeldDirectory::Obstacle> found_;
  Entry stays_;
};

}  // namespace dlaunch::sys
