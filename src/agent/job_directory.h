// Where the job's files are on this host (wire::File): a directory that only its owner may enter, made when the first
// file comes, under TMPDIR or /tmp. Made by `main` before the fork: guardian and worker share what is known of it, so
// that the one removes it when the other was killed.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

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
  /// The file's path. `name` has no directory; a file of that name is replaced.
  tl::expected<std::string, Failure> keep(std::string_view name, std::string_view bytes);

  /// With all files in it. Nothing happens when there is none.
  void remove();

 private:
  char* path_;  // shared with the other process; "": there is no directory
};

}  // namespace dlaunch::agent
