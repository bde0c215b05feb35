// The progress of a job, the end of the job, and the end of each rank. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dlaunch/exit_status.h"
#include "dlaunch/worlds.h"

namespace dlaunch::job {

enum class Phase { starting, running, ending, finishing, finished };

/// The progress numbers that the ranks have written (JobOptions::progress).
struct Reached {
  int ranks = 0;  ///< number of ranks that have written a number
  std::int64_t least = 0;
  std::int64_t most = 0;
  int last = 0;  ///< a rank whose number is `least`
  bool operator==(const Reached&) const = default;
};

/// The progress of a job.
struct Progress {
  Phase phase = Phase::starting;
  int ranks = 0;
  int started = 0;
  int live = 0;                                                          ///< ranks that run
  std::optional<std::chrono::steady_clock::time_point> started_at = {};  ///< as Outcome::started_at
  std::uint64_t bytes = 0;                                               ///< of output that the launcher has read
  bool typed = false;                           ///< ranks have read from a terminal: a person works with these ranks
  bool disk_waits = false;                      ///< a file does not accept output
  std::set<int> running = {};                   ///< only while ending: the ranks that still run, for display
  Worlds worlds = {};                           ///< the worlds of the ids in `running`
  std::vector<std::string> missing_hosts = {};  ///< only while starting: hosts that are not ready
  int signal = 0;                               ///< while ending: the signal that was sent
  std::optional<std::chrono::steady_clock::time_point> kill_at =
      {};  ///< while ending: the time at which KILL will be sent; empty: KILL was sent, or no rank runs
  std::optional<std::chrono::steady_clock::time_point> start_at =
      {};  ///< while starting: the time at which the ranks of this round start; empty: as soon as every host is ready
  int round = 0;          ///< 0: the first round
  std::string bars = {};  ///< with OutputSettings::bars: the progress bars that the ranks draw, in one line
  std::optional<Reached> reached = {};  ///< empty before the first number
};

struct RankRecord {
  int pid = 0;                         ///< on its host; 0 before the start
  std::optional<ExitStatus> status;    ///< empty while the rank runs, and if the job ended before the rank started
  std::int64_t start_ns = 0;           ///< CLOCK_REALTIME of its host; 0 before the start
  std::int64_t end_ns = 0;             ///< CLOCK_REALTIME of its host; after MPI_Abort: the time of the call
  bool ended_by_us = false;            ///< dlaunch or a batch system signalled the rank before the end of the rank
  bool needed_kill = false;            ///< the rank was alive at the end of the grace period, and got SIGKILL
  std::string cpus;                    ///< affinity after the start, folded ("0-3"); empty unless requested
  std::optional<int> abort_code = {};  ///< code of MPI_Abort, 0…255; `status` has the code after the end
  std::optional<std::int64_t> progress = {};  ///< the last progress number (JobOptions::progress)
  bool unheard = false;  ///< the end of the rank is unknown; the host has not answered since the job began to end
};

struct LostHost {
  std::string name;
  std::string why;
  std::string hint;  ///< the next step; may be empty
};

/// A host that was lost after the start of its ranks, and could not be reached again.
struct Unswept {
  int host;
  std::string why;
  std::optional<std::chrono::steady_clock::time_point> gone_by =
      {};  ///< the time by which the host's agent has ended all ranks, unless the host is frozen
};

/// A preemption: the ranks were asked to save their state.
struct Preempted {
  int signal = 0;                     ///< the signal that the launcher or an agent received
  bool at_host = false;               ///< an agent received the signal
  std::optional<int> sender = {};     ///< the pid of the process that signalled the launcher; empty: unknown
  std::chrono::milliseconds used{0};  ///< time from the signal to the end of the last rank, or to the deadline
  bool operator==(const Preempted&) const = default;
};

/// A report of --hang-after: no rank wrote during this time (job/hangs.h).
struct Hang {
  bool everyone = true;      ///< true: no rank made progress; false: only some ranks waited
  std::string text;          ///< describes what the ranks do
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME of the launcher's host
  std::string file;          ///< the file with the stacks of all threads; empty: no file
};

enum class Cause {
  success,         ///< every rank exited with 0
  rank_failed,     ///< `first_failure` is set
  interrupted,     ///< `signal` is set
  timeout,         ///< --timeout
  host_lost,       ///< `detail` names the first of `lost_hosts` and its reason
  output_failed,   ///< `detail` names the file or stream, and the reason
  input_failed,    ///< `detail` has the reason
  preempted,       ///< `preempted` is set; no rank failed
  sidecar_failed,  ///< the sidecar process; `detail` describes its end
  hung,            ///< no rank made progress (job/hangs.h); `detail` has the duration
};

struct Outcome {
  Cause cause = Cause::success;
  int exit_code = 0;
  int signal = 0;                    ///< with Cause::interrupted
  bool signalled_at_host = false;    ///< a host got the signal, and this process did not; `detail` names the host
  bool idle = false;                 ///< no rank was running when the job began to end
  std::optional<int> first_failure;  ///< id of the first rank that failed
  std::optional<Preempted> preempted = {};  ///< set also with another final cause
  std::string detail;
  std::vector<LostHost> lost_hosts;    ///< in the order of the reports
  std::vector<std::string> leftovers;  ///< processes whose end was not confirmed, and files that were not removed
  std::vector<int> swept;              ///< lost hosts that had ranks; a sweep confirmed that no process is left
  std::vector<int> ended_by_manager;   ///< lost hosts where the resource manager ends the job and starts no agent
  std::vector<Unswept> unswept;        ///< these hosts are also in `leftovers`
  std::vector<Hang> hangs;             ///< ordered by time
  std::vector<RankRecord> ranks;       ///< the index is the rank's id
  bool unread = false;          ///< the end of the output is missing, because the reader of the output was too slow
  bool unended = false;         ///< the output of a rank did not reach end of file: the last bytes may be missing
  bool may_restart = false;     ///< the round failed, and hosts wait for another round (job/rounds.h)
  std::string no_restart = {};  ///< the event after the failure that prevents a restart; may be empty

  /// The time at which the launcher requested the start of the ranks. Empty before this time.
  std::optional<std::chrono::steady_clock::time_point> started_at = {};
  /// The time of the event that is the cause: the arrival of the first failure, the signal, the end of the time limit,
  /// the loss of the host, the preemption notice. Empty before a cause, and after a success.
  std::optional<std::chrono::steady_clock::time_point> cause_at = {};
  /// The time at which the last host confirmed the end of its processes, or was abandoned. Empty before this time.
  std::optional<std::chrono::steady_clock::time_point> ended_at = {};
};

}  // namespace dlaunch::job
