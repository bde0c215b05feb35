// The record of a job: the plan, the ranks and the end, without values of environment variables. --report, or
// JobOptions::report_file, writes the record. docs/output-formats.md shows a record.
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
  int rank = 0;   ///< number in its world
  std::string host;
  int local_rank = 0;
  std::optional<int> device;
  job::RankRecord end;  ///< times in whole microseconds; `status` is set after the end
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  std::string stdout_path;  ///< path of the file; empty: no file
  std::string stderr_path;
};

/// A round before the last round (docs/restart-after-failure.md).
struct RoundRecord {
  job::Cause cause;
  std::string text;                  ///< "rank 3 (host node1) exited with 3 after 2.0 s"
  std::optional<int> first_failure;  ///< id of a rank
  std::int64_t start_ns = 0;         ///< CLOCK_REALTIME
  std::int64_t end_ns = 0;
  std::optional<std::pair<std::int64_t, std::int64_t>> progress =
      {};  ///< the lowest and the highest progress number of the ranks
};

struct Record {
  std::string version;                                         ///< version of dlaunch
  std::vector<std::pair<std::string, std::string>> libraries;  ///< name, version
  std::string job_id;
  std::vector<std::vector<std::string>> command;  ///< the words of each program, without spawned programs
  std::int64_t start_ns = 0;                      ///< CLOCK_REALTIME, in whole microseconds
  std::int64_t end_ns = 0;                        ///< 0: the job is running
  double wall_s = 0;                              ///< measured with the monotonic clock
  job::Outcome outcome;             ///< without RankRecords; for a running job, only the known fields are set
  std::string plan;                 ///< JSON of plan::to_json
  std::vector<RecordedRank> ranks;  ///< the index is the rank's id
  std::optional<int> attempt;       ///< number of earlier requeues
  int restarts = 0;                 ///< --restarts: the maximum number
  std::vector<RoundRecord> earlier_rounds;
};

/// Parses the text of a record. `name` is the name of the file, for errors. Ignores unknown members, because a later
/// version may add members.
Result<Record> read_record(std::string_view text, const std::string& name);

}  // namespace dlaunch::report
