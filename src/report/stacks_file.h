// StacksFiles: the files with the stacks of all threads. Separate processes write them, because a disk may hang. Owned
// by the code that runs the job.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sys/helper_process.h"

namespace dlaunch::report {

class StacksFiles {
 public:
  /// `base`: the path without its number; empty: no file is written.
  explicit StacksFiles(std::string base) : base_(std::move(base)) {}
  /// Waits at most kWait for running writes.
  ~StacksFiles();
  StacksFiles(const StacksFiles&) = delete;
  StacksFiles& operator=(const StacksFiles&) = delete;

  /// Starts the write and returns the file's path; empty if no file is written.
  std::string write(const std::string& text);

 private:
  static constexpr std::chrono::seconds kWait{1};
  static constexpr int kMost = 100;  // files of a round

  const std::string base_;
  int written_ = 0;
  std::vector<sys::HelperProcess> writers_;
};

}  // namespace dlaunch::report
