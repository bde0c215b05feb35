// The job record of --report as JSON: the plan, the ranks, and the end of the job. PURE: values in, text out. Never has
// values of environment variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"
#include "dlaunch/record.h"

namespace dlaunch::report {

/// The size of a rank's output, and its files. A path is empty without a file.
struct RankOutput {
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  std::string stdout_path;
  std::string stderr_path;
};

struct RecordInput {
  const plan::Plan& plan;
  const job::Outcome& outcome;
  std::string plan_json;                                       ///< plan::to_json
  std::string version;                                         ///< of dlaunch
  std::vector<std::pair<std::string, std::string>> libraries;  ///< name, version
  std::int64_t start_ns = 0;                                   ///< CLOCK_REALTIME
  std::int64_t end_ns = 0;                                     ///< 0: the job still runs, and the outcome is incomplete
  double wall_s = 0;                                           ///< monotonic clock
  std::vector<RankOutput> outputs;                             ///< by rank id; shorter if output was never opened
  std::vector<RoundRecord> rounds = {};                        ///< the rounds before the round of `outcome`
};

/// The record, ending in a newline. U+FFFD replaces bytes that are not UTF-8.
std::string job_record_json(const RecordInput& input);

/// The smallest and the largest progress of the ranks; none if no rank reported progress.
std::optional<std::pair<std::int64_t, std::int64_t>> progress_span(const std::vector<job::RankRecord>& ranks);

/// The name of this cause in the record.
const char* cause_name(job::Cause cause);

}  // namespace dlaunch::report
