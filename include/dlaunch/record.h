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
  int world = 1;  ///< as worlds.h counts
  int rank = 0;   ///< in its world
  std::string host;
  int local_rank = 0;
  std::optional<int> device;
  job::RankRecord end;  ///< its times in whole microseconds; its status where it has ended
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  std::string stdout_path;  ///< of the file that keeps it; empty: none
  std::string stderr_path;
};

struct Record {
  std::string version;                                         ///< dlaunch's
  std::vector<std::pair<std::string, std::string>> libraries;  ///< name, version
  std::string job_id;
  std::vector<std::vector<std::string>> command;  ///< the words of each program that was started, not of spawned ones
  std::int64_t start_ns = 0;                      ///< CLOCK_REALTIME, in whole microseconds
  std::int64_t end_ns = 0;                        ///< 0: the job was running
  double wall_s = 0;                              ///< by a clock that nobody sets
  job::Outcome outcome;                           ///< but its ranks; of one that was running, what was known
  std::string plan;                               ///< JSON, as plan::to_json has it
  std::vector<RecordedRank> ranks;                ///< the index is the rank's id
};

/// The text of a record. `name` is the file's, for errors. What is no record is an Error; members of a later version
/// are passed over.
Result<Record> read_record(std::string_view text, const std::string& name);

}  // namespace dlaunch::report
