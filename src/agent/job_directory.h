// Where the job's files are on this host (wire::File): a directory that only its owner may enter, made when the first
// file comes, under TMPDIR or /tmp; and, where ranks share memory by files, one under /dev/shm. Made by `main` before
// the fork: guardian and worker share what is known of it, so that the one removes it when the other was killed. When
// both were, another agent of the job does: all their names begin with "dlaunch-" and hold the job's id.
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
  /// Whose files they are; before any of them.
  void belong_to(std::string job_id) { job_id_ = std::move(job_id); }

  /// The file's path. `name` has no directory; a file of that name is replaced.
  tl::expected<std::string, Failure> keep(std::string_view name, std::string_view bytes);

  /// A directory in it for one purpose. Made once; then its path.
  tl::expected<std::string, Failure> make(std::string_view name);

  /// The same at `path`, for files that ranks share as memory. False when there is one already, or cannot be.
  bool make_shared_memory(const std::string& path);

  /// With all that is in them; what is left of them, with the reason, which a later call tries again.
  std::vector<std::string> remove();

  /// The same for what agents of the job left that were killed: our user's own directories.
  std::vector<std::string> remove_left() const;

 private:
  tl::expected<std::string, Failure> made();

  std::string job_id_;
  char* path_;    // shared with the other process; "": there is no directory
  char* memory_;  // likewise
};

}  // namespace dlaunch::agent
