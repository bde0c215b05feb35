// The record of a job that --report, or JobOptions::report_file, writes: what was planned, what ran, how it ended. It
// has no value of any environment variable. docs/output.md shows one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/outcome.h"

namespace dlaunch::report {

struct RecordedRank {
  int world = 1;  ///< numbered as in worlds.h
  int rank = 0;   ///< in its world
  std::string host;
  int local_rank = 0;
  std::optional<int> device;
  job::RankRecord end;  ///< times in whole microseconds; a status once it has ended
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  std::string stdout_path;  ///< of the file that keeps it; empty: none
  std::string stderr_path;
};

/// A round before the last one (docs/restarts.md).
struct RoundRecord {
  job::Cause cause;
  std::string text;                  ///< "rank 3 (host node1) exited with 3 after 2.0 s"
  std::optional<int> first_failure;  ///< a rank
  std::int64_t start_ns = 0;         ///< CLOCK_REALTIME
  std::int64_t end_ns = 0;
  std::optional<std::pair<std::int64_t, std::int64_t>> progress = {};  ///< the least and the most of its ranks
};

struct Record {
  std::string version;                                         ///< dlaunch's
  std::vector<std::pair<std::string, std::string>> libraries;  ///< name, version
  std::string job_id;
  std::vector<std::vector<std::string>> command;  ///< each program's words, without spawned programs
  std::int64_t start_ns = 0;                      ///< CLOCK_REALTIME, in whole microseconds
  std::int64_t end_ns = 0;                        ///< 0: the job was still running
  double wall_s = 0;                              ///< by the monotonic clock
  job::Outcome outcome;             ///< without its ranks; of a job that was still running, what was known
  std::string plan;                 ///< JSON, as plan::to_json has it
  std::vector<RecordedRank> ranks;  ///< the index is the rank's id
  std::optional<int> attempt;       ///< how often the job had been queued again
  int restarts = 0;                 ///< the most that were allowed
  std::vector<RoundRecord> earlier_rounds;
};

/// Parses the text of a record. `name` is the file's, for errors. A text that is no record is an Error; members that a
/// later version added are ignored.
Result<Record> read_record(std::string_view text, const std::string& name);

}  // namespace dlaunch::report
