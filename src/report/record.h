// The job's record that --report writes: what was planned, what runs or ran, how it ended. PURE: values in, JSON text
// out.
// Holds no value of any environment variable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"

namespace dlaunch::report {

/// What a rank wrote, and where it is kept. Paths are empty without a file.
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
  std::int64_t end_ns = 0;                                     ///< 0: it runs; the outcome is what is known of it
  double wall_s = 0;                                           ///< by a clock that nobody sets
  std::vector<RankOutput> outputs;                             ///< index == rank; shorter when output was never opened
};

/// Ends in a newline. Text that is not UTF-8 comes with U+FFFD in place of the bad bytes.
std::string job_record_json(const RecordInput& input);

/// As the record names it.
std::optional<job::Cause> cause_of(std::string_view text);

}  // namespace dlaunch::report
