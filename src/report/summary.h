// What went wrong, for stderr: the consequences first, the root cause in the last lines, where people look. PURE:
// values in, text out.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"

namespace dlaunch::report {

struct Summary {
  const plan::Plan& plan;
  const job::Outcome& outcome;
  std::vector<std::string> last_words;  ///< of the rank that failed first, or of the sidecar; may be empty
  std::string log_path;                 ///< its stderr file; empty without one
  Duration elapsed{};                   ///< of the whole job
  /// The command that runs a script from its stdin on a host. Called only for hosts that were not reached again.
  std::function<std::string(const plan::Host&)> shell_there = {};
  std::string error_file = {};  ///< last_words are from this file, and not from stderr
};

/// Whole lines, each starting with "dlaunch: ". Empty after a success that left nothing behind. Ranks that ended
/// because of the cause are counted, not listed.
std::string failure_summary(const Summary& summary);

/// What ended a round, in one line without a newline: "rank 3 (host node1, pid 42) exited with 3 after 2.0 s".
std::string cause_text(const Summary& summary);

/// How to end what may be left on hosts that were lost and not reached again; empty where there are none.
std::string unswept_text(const Summary& summary);

/// The line that tells of it: "dlaunch: CAUSE; restart 1 of 3 in 4 s".
std::string restart_text(const std::string& cause, int restart, int restarts, std::chrono::seconds wait);

/// The one thing to do about a rank that did not start; empty when the error says it all. `has_path`: the rank's
/// environment has a PATH.
std::string not_started_hint(const NotStarted& status, std::string_view program, std::string_view wdir, bool has_path);

}  // namespace dlaunch::report
