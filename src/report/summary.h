// The summary of a failed job, for stderr: the cause, the last lines of the rank that failed first, the consequences,
// and processes that may be left. PURE: values in, text out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"

namespace dlaunch::report {

// The report on hosts that cannot be used or were lost. PURE.

/// Complete lines, each starting with "dlaunch: ". Hosts with the same reason share one line; the most common reason is
/// last. `started`: ranks had started on the hosts.
std::string lost_hosts_text(const std::vector<job::LostHost>& lost, bool started, Duration elapsed);

/// The command that kills processes that a job left on a host. The command kills only processes with exactly this job
/// id in their environment. `shell_there`: the command that runs a script from stdin on the host.
std::string end_job_command(const std::string& job_id, const std::string& shell_there);

struct Summary {
  const plan::Plan& plan;
  const job::Outcome& outcome;
  std::vector<std::string> last_lines;  ///< of the rank that failed first, or of the sidecar; may be empty
  std::string log_path;                 ///< the file of the stream; empty without a file
  Duration elapsed{};                   ///< from the start of the job to the cause (job::Outcome::cause_at)
  /// The command that runs a script from stdin on a host. Called only for hosts that were not reached again.
  std::function<std::string(const plan::Host&)> shell_there = {};
  std::string error_file = {};    ///< not empty: last_lines are from this file, not from `stream`
  std::string stream = "stderr";  ///< the stream of last_lines: "stderr", "stdout", or "output" if both are one
  std::vector<std::string> subcommands = {};  ///< JobOptions::subcommands
  /// From the start of the job to job::Outcome::ended_at; empty: not known, and not printed.
  std::optional<Duration> ended = {};
  std::vector<plan::Host> unswept_before = {};  ///< hosts that earlier rounds lost and no sweep reached
};

/// Complete lines, each starting with "dlaunch: ". Empty after a success without leftovers. Ranks that were stopped
/// because of the cause are counted, not listed. Ranks that did not start for the same reason share one line. The time
/// in the line of the cause is the time of the cause. If all processes ended noticeably later, another line has the
/// time of their end.
std::string failure_summary(const Summary& summary);

/// The cause of a round's end in one line without a newline: "rank 3 (host node1, pid 42) exited with code 3 after
/// 2.0 s".
std::string cause_text(const Summary& summary);

/// The commands that kill processes on lost hosts that were not reached again; empty without such hosts.
std::string unswept_text(const Summary& summary);

/// The line that announces a restart: "dlaunch: CAUSE; restart 1 of 3 in 4 s".
std::string restart_text(const std::string& cause, int restart, int restarts, std::chrono::seconds wait);

/// How to fix a program that did not start; empty if the error is clear. `has_path`: the rank's environment has a PATH.
/// `subcommands`: the program may be one of them, misplaced or misspelled.
std::string not_started_hint(const NotStarted& status, std::string_view program, std::string_view wdir, bool has_path,
                             const std::vector<std::string>& subcommands = {});

}  // namespace dlaunch::report
