// Adds, completes and removes variables in a rank's environment, a list of NAME=VALUE, and writes it to env.log. One of
// the variables names the error file of a PyTorch rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/job_directory.h"
#include "sys/held_directory.h"
#include "wire/archive.h"

namespace dlaunch::agent {

using wire::kEnvironmentFile;

/// Writes kEnvironmentFile in the format of env(1), readable only by its owner, because the environment may contain
/// secrets. On failure errno is set. Safe after a fork.
bool save_environment(const sys::HeldDirectory& directory, char* const* entries);

bool has_name_of(const std::vector<std::string>& env, const std::string& other);
void add_unless_there(std::vector<std::string>& env, const std::string& added);
/// Adds to `own` the variables of `added` that neither `own` nor `shared` has.
void add_missing(std::vector<std::string>& own, const std::vector<std::string>& shared,
                 const std::vector<std::string>& added);

/// Adds this host's login variables, which are not sent from another host. The local agent adds none.
void add_login(std::vector<std::string>& env);

/// The batch system's variables about this node (plan::tells_of_node).
std::vector<std::string> node_variables();

/// The number of the step of srun that started this agent; empty if srun did not.
std::vector<std::string> step_variables();
/// Whether ranks with these variables also get step_variables().
bool has_variables_of_tasks(const std::vector<std::string>& env);

/// Removes all variables of a PMI-1 connection.
void drop_pmi1(std::vector<std::string>& env);
/// Removes the plan's variables of a PMI-1 connection in a world of `ranks` ranks, but not the user's variables.
void drop_planned_pmi1(std::vector<std::string>& env, std::uint32_t ranks);

/// TORCHELASTIC_ERROR_FILE: the file in which a PyTorch rank writes the reason of its failure. The files are in the
/// job's directory on this host and are removed with the directory; a failed rank's file is sent to the launcher. Owned
/// by Ranks; `files` must outlive this object.
class ErrorFiles {
 public:
  explicit ErrorFiles(JobDirectory& files) : files_(files) {}

  void offer() { offered_ = true; }  ///< from now on ranks have an error file
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
