// Where the job's files are on this host (wire::JobFile): a directory that only its owner may enter, made under TMPDIR
// or /tmp for the first file; and one under /dev/shm where ranks share memory by files. Made by `main` before the fork:
// guardian and worker share what is known of it, so that one removes it when the other was killed. When both were,
// another agent of the job does: all names begin with "dlaunch-" and hold the job's id.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

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
  };
  /// Sets the job that owns the files; before any of them.
  void belong_to(std::string job_id) { job_id_ = std::move(job_id); }

  /// Writes a file and returns its path. `name` has no directory; a file of that name is replaced.
  tl::expected<std::string, Failure> keep(std::string_view name, std::string_view bytes);

  /// Makes a directory in it, unless it is there already, and returns its path.
  tl::expected<std::string, Failure> make(std::string_view name);

  /// Makes the directory `path` for files that ranks share as memory. False when it exists or cannot be made.
  bool make_shared_memory(const std::string& path);

  /// Removes both with all that is in them. Returns what is left, with the reason; a later call tries again.
  std::vector<std::string> remove();

  /// The same for directories of our user that killed agents of the job left.
  std::vector<std::string> remove_left() const;

 private:
  tl::expected<std::string, Failure> made();

  std::string job_id_;
  char* path_;    // shared with the other process; "": there is no directory
  char* memory_;  // the same for make_shared_memory()
};

}  // namespace dlaunch::agent
