// A directory of this user's alone, with a name that nobody can foresee, in which the agents of one start find what
// they need; it goes with its owner. Nobody else can read its files, or put another directory in its place: each
// directory above it belongs to this user or root, and is closed to the writing of others, or sticky. What an owner
// that was killed has left is removed by a later start beside it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::dialback {

class StartDirectory {
 public:
  /// By the clock of the disk: no start takes that long, so a directory that is older has no owner any more.
  static constexpr std::chrono::minutes kAbandonedAfter{10};

  /// `parent` is made where it is missing, and abandoned directories in it are removed.
  static Result<StartDirectory> make(const std::string& parent, const std::string& nonce);
  StartDirectory(StartDirectory&& other) noexcept;
  StartDirectory& operator=(StartDirectory&&) = delete;
  ~StartDirectory();

  /// Absolute, without links.
  const std::string& path() const { return path_; }
  Result<void> write(const std::string& name, std::string_view text) const;
  /// The beginning of a file; empty where there is none.
  std::string read(const std::string& name) const;

 private:
  explicit StartDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty: another has it
};

}  // namespace dlaunch::dialback
