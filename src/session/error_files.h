// --error-file: sets TORCHELASTIC_ERROR_FILE, the file in which a rank writes the reason of its failure, and reads this
// file for the failure summary. Only for ranks on this machine; on other hosts, and if the option is missing, agents
// create the files (wire::WroteError). Files with content stay after the job.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "launcher/waits.h"
#include "sys/helper_process.h"

namespace dlaunch::session {

/// The plan with the variable set for the ranks on this machine. `name` is a template, and empty if the option is
/// missing; a value set with -x stays.
Result<plan::Plan> with_error_files(const std::string& name, plan::Plan plan);

/// Rejects the option if no rank is on this machine, because the option would have no effect.
Result<void> check_error_files_serve(const std::string& name, const plan::Plan& plan);

/// The error files of a round. A helper process locks the files against removal by another job.
class LockedErrorFiles {
 public:
  using Emptied = std::function<void(const Result<void>& result)>;

  /// Starts the process. Null without error files.
  static Result<std::unique_ptr<LockedErrorFiles>> open(const plan::Plan& plan);
  /// Waits until the files are created and locked. An Error (kExitRefused) if another job has a lock or a file cannot
  /// be created, or if the disk does not respond.
  Result<void> lock(const sys::Wait& wait);
  /// Removes the content that an earlier job wrote. Call before ranks start: they write to the same files. Waits on the
  /// loop, and then calls `emptied` once. If lock() was not called, also waits for the locks. Has the Errors of lock().
  void empty(asio::io_context& io, Emptied emptied);
  /// The step that empty() waits for, such as "create /x/error-0".
  std::string step() const;
  /// Removes empty files, and created directories that are empty.
  ~LockedErrorFiles();
  LockedErrorFiles(const LockedErrorFiles&) = delete;
  LockedErrorFiles& operator=(const LockedErrorFiles&) = delete;

 private:
  LockedErrorFiles(std::vector<std::string> paths, sys::HelperProcess holder)
      : paths_(std::move(paths)), holder_(std::move(holder)) {}
  bool all_locked() const { return answers_.size() >= paths_.size(); }
  Result<void> locked(int error) const;
  void await_answers();
  void end_wait(int error);

  const std::vector<std::string> paths_;
  sys::HelperProcess holder_;
  std::string answers_;  // one byte per path: an errno
  Emptied emptied_;      // set during the wait
  std::unique_ptr<launcher::Deadline> late_;
  std::unique_ptr<launcher::Readiness> ended_;
};

struct ErrorFile {
  std::string path;                ///< or the variable's name, for a file of the agent
  std::vector<std::string> words;  ///< its last lines
};

/// The error text of a rank; nullopt if the file is missing or unreadable. `sent`: texts received from agents, by rank.
std::optional<ErrorFile> read_error_file(const plan::Plan& plan, int rank, const std::map<int, std::string>& sent);

}  // namespace dlaunch::session
