// The file with the stacks of all threads. A process of its own writes it, because a disk may hang. Owned by whoever
// runs the job.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sys/helper_process.h"

namespace dlaunch::report {

class StacksFiles {
 public:
  /// `base` is a path before its number; empty: no file is written.
  explicit StacksFiles(std::string base) : base_(std::move(base)) {}
  /// Waits for what is being written, but not long.
  ~StacksFiles();
  StacksFiles(const StacksFiles&) = delete;
  StacksFiles& operator=(const StacksFiles&) = delete;

  /// Does not wait. Returns the file's path; empty: there is none.
  std::string write(const std::string& text);

 private:
  static constexpr std::chrono::seconds kWait{1};
  static constexpr int kMost = 100;  // files of a round

  const std::string base_;
  int written_ = 0;
  std::vector<sys::HelperProcess> writers_;
};

}  // namespace dlaunch::report
