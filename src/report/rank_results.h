// The end of each rank, for people (--summary table) and for the reports of CI systems (--junit, the annotations of
// GitHub Actions). PURE.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"

namespace dlaunch::report {

struct RankResult {
  enum class Kind { succeeded, failed, stopped };  // stopped: by dlaunch or by a signal to the job, or never started
  Kind kind = Kind::stopped;
  std::string rank;  ///< number, or name in its world
  std::string host;
  std::string end;  ///< "exited with code 3", "not started"
  double seconds = 0;
  std::vector<std::string> lines = {};  ///< the last lines of the rank's output
};

/// The last lines of a rank's output. `failed`: lines of stderr, if there are any.
using LastWords = std::function<std::vector<std::string>(int rank, bool failed)>;

std::vector<RankResult> rank_results(const plan::Plan& plan, const job::Outcome& outcome, const LastWords& last_words);

/// A table with a header: rank, host, end, duration, last line. Ends in a newline.
std::string results_table(const std::vector<RankResult>& results);

/// The results in the XML format of JUnit: a case for each rank. Stopped ranks are skipped cases. `cause`: why the job
/// failed; if no rank failed, the job is a case with this error.
std::string results_junit(const std::vector<RankResult>& results, double seconds, std::string_view cause = {});

/// "::error title=TITLE::TEXT\n": GitHub Actions shows the text next to the job.
std::string github_error(std::string_view title, std::string_view text);

}  // namespace dlaunch::report
