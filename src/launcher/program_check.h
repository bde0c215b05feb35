// Before the job changes files of earlier jobs, asks the hosts for the programs and working directories of their ranks:
// a job that cannot start changes no file. Owned by StartFiles; the constructor arguments must outlive this
// object.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"
#include "job/events.h"
#include "wire/message.h"

namespace dlaunch::launcher {

class ProgramCheck {
 public:
  /// Reads the names, the modes and the first bytes of the staged files.
  ProgramCheck(const plan::Plan& plan, const JobOptions& options);

  /// The questions for the host; empty if the job changes no files, and for a host with an earlier call.
  std::vector<wire::QueryHost> ask(int host);
  /// Returns the protocol error, or an empty text. Ignores answers without a question.
  std::string take(int host, const wire::HostInfo& answer);
  /// The host is lost.
  void forget(int host) { asked_.erase(host); }
  /// Whether a host has not answered.
  bool waits() const;
  /// A rank's working directory is missing, above its rank directory: the host cannot create that one, and is lost
  /// soon.
  bool lacks_directory() const { return lacks_directory_; }
  /// The ranks that cannot start; empty if the job can run with the other ranks.
  std::vector<job::RankEnded> refused() const;

 private:
  /// A question and the ranks of each of its programs, by index.
  struct Asked {
    wire::QueryHost query;
    std::vector<std::vector<int>> ranks;
  };

  bool changes_files() const;
  bool may_be_staged(const std::string& program) const;
  int error_of_staged(const plan::Rank& rank, const std::string& place) const;
  bool is_removed(const plan::Rank& rank, const std::string& program) const;
  bool is_unknown(const plan::Rank& rank, const std::string& path) const;
  void add(int rank, const std::string& path, std::vector<Asked>& questions);
  void refuse(const std::vector<int>& ranks, int error, const std::string& what);

  const plan::Plan& plan_;
  const JobOptions& options_;
  std::set<std::string> staged_;                // names without directories
  std::map<std::string, int> staged_programs_;  // by name: 0, or the errno of its start
  bool has_staged_links_ = false;
  std::map<int, std::deque<Asked>> asked_;  // by host: questions without an answer
  std::map<int, job::RankEnded> refused_;   // by rank
  bool lacks_directory_ = false;
};

}  // namespace dlaunch::launcher
