// Writes the job's record for --report: what was planned, what runs or ran, how it ended. PURE: values in, JSON text
// out. Holds no value of any environment variable.
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

/// How much a rank wrote, and which files keep it. A path is empty without a file.
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
  std::string version;                                         ///< dlaunch's
  std::vector<std::pair<std::string, std::string>> libraries;  ///< name, version
  std::int64_t start_ns = 0;                                   ///< CLOCK_REALTIME
  std::int64_t end_ns = 0;               ///< 0: the job runs, and the outcome is what is known so far
  double wall_s = 0;                     ///< by the monotonic clock
  std::vector<RankOutput> outputs;       ///< by rank id; shorter when output was never opened
  std::vector<RoundRecord> rounds = {};  ///< those before the one of `outcome`
};

/// The record, ending in a newline. U+FFFD replaces bytes that are not UTF-8.
std::string job_record_json(const RecordInput& input);

/// The least and the most progress of the ranks; none: they told none.
std::optional<std::pair<std::int64_t, std::int64_t>> progress_span(const std::vector<job::RankRecord>& ranks);

/// The cause that the record names so.
std::optional<job::Cause> cause_of(std::string_view text);

}  // namespace dlaunch::report
