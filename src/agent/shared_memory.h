// Removes the files that killed ranks of a round leave in /dev/shm. Libraries normally remove their segments
// themselves, but a killed process cannot; without the cleanup, each round would have less memory. A file is removed if
// all of these hold:
// - the file appeared during the round, belongs to this user, and has a library's name pattern. A rank's own file, such
//   as a checkpoint in memory, stays;
// - a process of the round created the file: its pid is in the name, or it was seen to be the creator
//   (CreationWatch), and a process of the round had the file mapped when the ranks were signalled. A process
//   outside of the job may have created a file that a rank maps;
// - the file is not open or mapped on this machine, in any container: the kernel grants a lease.
//
// Passive. Owned by the Agent, one object for each round.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/task.h"
#include "base/time.h"
#include "sys/descendants.h"
#include "sys/fd.h"
#include "sys/held_directory.h"

namespace dlaunch::agent {

/// The history of new files in a directory, from inotify: how often a file was opened, and whether an opener has closed
/// it. A mapping keeps a file open. Until the first close of a new file, its creator has the file open. Passive: the
/// owner calls drain() often enough that the kernel's queue does not overflow; after an overflow the histories of
/// existing files are useless.
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

class SharedMemory final : public Task {
 public:
  /// Files that exist now stay.
  explicit SharedMemory(std::string directory = "/dev/shm");

  /// Watches before the ranks start, if another round may follow. Records before the ranks are signalled.
  std::optional<std::string> on(wire::Message& message) override {
    const auto* const layout = std::get_if<wire::Layout>(&message);
    if (layout && layout->restart_possible) watch();
    const auto* const signal = std::get_if<wire::Signal>(&message);
    if (signal && !signal->if_caught) record_mapped();
    return std::nullopt;
  }
  void tick() override { find_creators(); }

  /// Call before the ranks start if another round may follow: without it, no file without a pid in its name is removed.
  void watch() { watch_.start(); }
  /// Call every few seconds: finds the creators of new files. Cheap if there are no new files.
  void find_creators();
  /// Call before the ranks are terminated: records the files that the ranks have mapped. Cheap if there are no new
  /// files.
  void record_mapped();
  /// A process of the round has ended.
  void reaped(pid_t pid) {
    if (pids_.size() < kMostPids) pids_.insert(pid);
  }

  struct Left {
    std::vector<std::string> removed;   ///< paths
    std::vector<std::string> unproven;  ///< not open anywhere, but perhaps of another job
  };
  /// Call after all processes of the round have ended.
  Left remove();

 private:
  static constexpr std::size_t kMostPids = 65536;

  struct File {
    std::string name;
    pid_t pid = 0;   // from the name; 0: none
    std::string id;  // device and inode in the format of /proc/PID/maps
  };
  std::vector<File> come() const;
  /// The files that processes of the round have mapped. Notes the creators of files.
  std::set<std::string> look(const std::vector<File>& files);
  bool is_created(const File& file);

  const std::string directory_;
  const sys::HeldDirectory held_;
  CreationWatch watch_;
  Time next_look_{};
  std::set<std::string> before_;  // names at the start of the round
  bool known_ = false;            // `before_` is complete
  std::set<pid_t> pids_;
  std::set<std::string> mapped_;  // ids
};

/// A text for -vv; empty if nothing was removed or left.
std::string text_of(const SharedMemory::Left& left);

}  // namespace dlaunch::agent
