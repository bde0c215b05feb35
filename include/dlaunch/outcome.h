// What became of a job and of each rank. Values: Job fills them, report prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/exit_status.h"

namespace dlaunch::job {

struct RankRecord {
  int pid = 0;                         ///< on its host; 0 while not started
  std::optional<ExitStatus> status;    ///< none while running, or when the job ended before it started
  std::int64_t start_ns = 0;           ///< CLOCK_REALTIME of its host; 0 while not started
  std::int64_t end_ns = 0;             ///< of one that called MPI_Abort: when it did
  bool ended_by_us = false;            ///< it ended after the job sent TERM or KILL: a consequence, not a cause
  bool needed_kill = false;            ///< it was alive when the grace ran out
  std::string cpus;                    ///< affinity read back after the start, folded ("0-3"); empty unless asked for
  std::optional<int> abort_code = {};  ///< of its MPI_Abort, 0…255; its status says so once it ends
};

struct LostHost {
  std::string name;
  std::string why;
  std::string hint;  ///< the one thing to do; may be empty
};

/// A host that was lost after ranks had started there, and was not reached again.
struct Unswept {
  int host;
  std::string why;
};

enum class Cause {
  success,         ///< every rank ended with 0
  rank_failed,     ///< first_failure says which
  interrupted,     ///< by the signal in `signal`
  timeout,         ///< --timeout
  host_lost,       ///< `lost_hosts`, and `detail` names the first and its reason
  output_failed,   ///< `detail` names the sink and reason
  sidecar_failed,  ///< the process beside the ranks; `detail` says how it ended
};

struct Outcome {
  Cause cause = Cause::success;
  int exit_code = 0;
  int signal = 0;                    ///< with Cause::interrupted
  std::optional<int> first_failure;  ///< id of a rank; by the time at its host
  std::string detail;
  std::vector<LostHost> lost_hosts;    ///< in the order of what was heard of them
  std::vector<std::string> leftovers;  ///< per host, what could not be confirmed gone at the end
  std::vector<int> swept;              ///< hosts that were lost with ranks, where nothing is left all the same
  std::vector<Unswept> unswept;        ///< among the leftovers, too
  std::vector<RankRecord> ranks;       ///< the index is the rank's id
  bool unread = false;                 ///< the reader of the output was not waited for any longer
};

}  // namespace dlaunch::job
