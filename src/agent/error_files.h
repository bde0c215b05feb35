// TORCHELASTIC_ERROR_FILE: where a rank of PyTorch writes why it failed. They are in the job's directory on this host,
// and go with it; what a rank wrote is sent when it has failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/job_directory.h"

namespace dlaunch::agent {

class ErrorFiles {
 public:
  explicit ErrorFiles(JobDirectory& files) : files_(files) {}

  /// From now on ranks have one.
  void offer() { offered_ = true; }

  /// Adds the variable to a rank's own, unless they or its program's have it already, or no file can be kept here.
  /// Returns the path of its file; empty for none.
  std::string add_to(std::vector<std::string>& own, const std::vector<std::string>& shared, std::uint32_t rank);

  /// All of a rank's file; empty where it wrote none, or more than wire::kMostErrorText.
  static std::string text_of(const std::string& path);

 private:
  JobDirectory& files_;
  bool offered_ = false;
};

}  // namespace dlaunch::agent
