// A private directory with a random name for the files of one start, removed by the destructor. Other users cannot read
// the files or replace the directory: each directory above belongs to this user or root, and is sticky or not writable
// by other users. A later start removes the directories of killed owners.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "dlaunch/error.h"
#include "sys/held_directory.h"

namespace dlaunch::dialback {

class StartDirectory {
 public:
  /// By the clock of the disk. No start takes this long, so the owner of an older directory is gone.
  static constexpr std::chrono::minutes kAbandonedAfter{10};

  /// Creates `parent` if missing, and removes abandoned directories in `parent`.
  static Result<StartDirectory> make(const std::string& parent, const std::string& nonce);
  StartDirectory(StartDirectory&& other) noexcept = default;
  StartDirectory& operator=(StartDirectory&&) = delete;
  ~StartDirectory();

  /// Absolute, without links.
  const std::string& path() const { return path_; }
  Result<void> write(const std::string& name, std::string_view text) const;
  /// The start of a file; empty if the file is missing.
  std::string read(const std::string& name) const;

 private:
  StartDirectory(std::string parent, std::string name)
      : path_(std::move(parent) + '/' + name), name_(std::move(name)) {}

  std::string path_;
  std::string name_;
  sys::HeldDirectory parent_;
  sys::HeldDirectory directory_;  // empty after a move
};

}  // namespace dlaunch::dialback
