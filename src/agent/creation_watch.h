// The history of new files in a directory, from inotify: how often a file was opened, and whether an opener has closed
// it. A mapping keeps a file open. Until the first close of a new file, its creator has the file open. Passive: the
// owner calls drain() often enough that the kernel's queue does not overflow; after an overflow the histories of
// existing files are useless.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sys/fd.h"

namespace dlaunch::agent {

class CreationWatch {
 public:
  /// Watches names for which `wanted` returns true, from start() on. Without inotify, no file has a history.
  CreationWatch(const std::string& directory, std::function<bool(std::string_view)> wanted);

  /// Costs about 10 ms at the end: the kernel waits before it closes an inotify descriptor.
  void start();
  void drain();

  struct History {
    unsigned opens = 0;
    bool whole = true;     ///< all openers still have the file open
    bool created = false;  ///< set by the owner: a process of the round is the creator
  };
  /// nullptr for a file that existed before start().
  History* of(const std::string& name);
  const std::map<std::string, History, std::less<>>& all() const { return files_; }

 private:
  static constexpr std::size_t kMostFiles = 10000;

  void take(std::string_view name, unsigned mask);

  const std::string directory_;
  std::function<bool(std::string_view)> wanted_;
  sys::Fd events_;
  std::map<std::string, History, std::less<>> files_;  // by name
};

}  // namespace dlaunch::agent
