// Keeps the log directories of earlier jobs (--keep-logs): renames PATH to PATH.1, PATH.1 to PATH.2, and so on. Removes
// the oldest directory if `keep` of them exist, after all renames. A failed step undoes the renames before it. Runs in
// the process of the disk: every step may wait for the disk. The caller holds the lock of PATH.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sys/held_directory.h"

namespace dlaunch::output {

class Rotation {
 public:
  /// `gave_up`: whether the job was given up; then the rotation fails with ECANCELED.
  Rotation(std::string path, std::uint32_t keep, std::function<bool()> gave_up)
      : path_(std::move(path)), keep_(keep), gave_up_(std::move(gave_up)), place_(sys::HeldPlace::of(path_)) {}

  /// Returns the failed step, with errno set, or an empty text.
  std::string run();

 private:
  std::string name(std::uint32_t n) const;
  std::string shown(std::uint32_t n) const;
  std::string check(std::uint32_t n) const;
  std::string rename_all(std::uint32_t last);
  bool rename(const std::string& from, const std::string& to);
  void undo();

  const std::string path_;
  const std::uint32_t keep_;
  const std::function<bool()> gave_up_;
  const sys::HeldPlace place_;
  std::vector<std::pair<std::string, std::string>> renamed_;
};

}  // namespace dlaunch::output
