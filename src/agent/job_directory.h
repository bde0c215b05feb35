// The job's files on this host (wire::JobFile): a directory under TMPDIR or /tmp, accessible only to its owner, created
// for the first file; and a directory under /dev/shm for ranks that share memory by files. Created by `main` before the
// fork: guardian and worker share the paths. The agent removes both directories at the end of the job; the guardian
// removes them again. If both were killed, another agent of the job removes the files: all names start with "dlaunch-"
// and contain the job's id. Another user who may write to TMPDIR cannot exchange the directory: the worker uses its
// descriptor, and both remove only the directory with the same device and inode. A child process changes the disk of
// TMPDIR, which may not respond. If the child did not create the directory in time, the name and the owner are enough.
#pragma once

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/shared_texts.h"
#include "sys/held_directory.h"
#include "sys/shared_object.h"

namespace dlaunch::agent {

class JobDirectory {
 public:
  JobDirectory();
  ~JobDirectory();
  JobDirectory(const JobDirectory&) = delete;
  JobDirectory& operator=(const JobDirectory&) = delete;

  struct Failure {
    int error;         ///< errno
    std::string what;  ///< the step with its operand
    std::string text() const {
      return what + ": " + (error == ETIMEDOUT ? std::string(kDiskIsSilent) : std::strerror(error));
    }
  };
  /// Sets the job that owns the files; call before the first file.
  void belong_to(std::string job_id) { job_id_ = std::move(job_id); }

  /// Writes a file and returns its path. `name` has no directory; a file of that name is replaced.
  tl::expected<std::string, Failure> keep(std::string_view name, std::string_view bytes);

  /// Creates a subdirectory, unless it exists already, and returns its path.
  tl::expected<std::string, Failure> make(std::string_view name);

  /// Creates the directory `path` for files that ranks share as memory. Returns false if `path` exists or mkdir fails.
  bool make_shared_memory(const std::string& path);

  /// Removes both directories with their content. Returns the remaining paths with the reason; a later call tries
  /// again.
  std::vector<std::string> remove();

  /// Removes this user's directories that remain from killed agents of the job. Returns the remaining paths with the
  /// reason.
  std::vector<std::string> remove_left() const;

 private:
  struct Made;
  tl::expected<std::string, Failure> made();

  std::string job_id_;
  sys::HeldDirectory directory_;
  std::string below_;              // the subdirectory
  std::optional<Failure> failed_;  // until remove(): a disk that does not respond is not asked again
  struct Both;
  sys::SharedObject<Both> made_;  // shared with the other process
};

}  // namespace dlaunch::agent
