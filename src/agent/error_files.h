// TORCHELASTIC_ERROR_FILE: the file in which a PyTorch rank writes the reason of its failure. The files are in the
// job's directory on this host and are removed with the directory; a failed rank's file is sent to the launcher. Owned
// by Ranks; `files` must outlive this object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/job_directory.h"

namespace dlaunch::agent {

class ErrorFiles {
 public:
  explicit ErrorFiles(JobDirectory& files) : files_(files) {}

  /// From now on ranks have an error file.
  void offer() { offered_ = true; }

  /// Adds the variable to `own`, unless `own` or `shared` has the variable, or the file cannot be created. Returns the
  /// file's path, or an empty text.
  std::string add_to(std::vector<std::string>& own, const std::vector<std::string>& shared, std::uint32_t rank);

  /// The whole content of a rank's file; empty if the file is missing or larger than wire::kMostErrorText.
  static std::string text_of(const std::string& path);

 private:
  JobDirectory& files_;
  bool offered_ = false;
};

}  // namespace dlaunch::agent
