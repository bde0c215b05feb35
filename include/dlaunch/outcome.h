// How far a job is, and what became of it and of each rank. Values.
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

/// How far the ranks are by the numbers that they write (JobOptions::progress).
struct Reached {
  int ranks = 0;  ///< that have written one
  std::int64_t least = 0;
  std::int64_t most = 0;
  int last = 0;  ///< a rank that is at `least`
  bool operator==(const Reached&) const = default;
};

/// How far a job is.
struct Progress {
  Phase phase = Phase::starting;
  int ranks = 0;
  int started = 0;
  std::set<int> running = {};                   ///< filled only while ending, for people to read
  Worlds worlds = {};                           ///< of the ids in `running`
  std::vector<std::string> missing_hosts = {};  ///< filled only while starting: those that are not ready yet
  int signal = 0;                               ///< the one that was sent, while ending
  std::optional<std::chrono::steady_clock::time_point> kill_at =
      {};  ///< while ending: when KILL is sent; none: it was sent
  std::optional<std::chrono::steady_clock::time_point> start_at =
      {};         ///< while starting: when the ranks of this round start; none: once every host is ready
  int round = 0;  ///< its number; 0: the first
  std::optional<Reached> reached = {};  ///< none before the first number
};

struct RankRecord {
  int pid = 0;                         ///< on its host; 0 while not started
  std::optional<ExitStatus> status;    ///< none while running, or when the job ended before it started
  std::int64_t start_ns = 0;           ///< CLOCK_REALTIME of its host; 0 while not started
  std::int64_t end_ns = 0;             ///< of a rank that called MPI_Abort: when it did
  bool ended_by_us = false;            ///< it ended after the job sent TERM or KILL: a consequence, not a cause
  bool needed_kill = false;            ///< it was alive when the grace ran out
  std::string cpus;                    ///< affinity read back after the start, folded ("0-3"); empty unless asked for
  std::optional<int> abort_code = {};  ///< of its MPI_Abort, 0…255; its status says so once it ends
  std::optional<std::int64_t> progress = {};  ///< the last number that it wrote (JobOptions::progress)
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

/// Somebody took the job's hosts back, and its ranks were asked to save their state.
struct Preempted {
  int signal = 0;                     ///< by which the launcher or an agent was told
  bool at_host = false;               ///< an agent was told
  std::optional<int> sender = {};     ///< the pid of the process that sent it to the launcher, where it was one
  std::chrono::milliseconds used{0};  ///< from then to the end of the last rank, or to the deadline
  bool operator==(const Preempted&) const = default;
};

/// No rank wrote for the time of --hang-after, and this is what they did (job/hangs.h).
struct Hang {
  bool everyone = true;  ///< none of them made progress; else some waited and others did not
  std::string text;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME here
  std::string file;          ///< the stacks of all threads; empty: none
};

enum class Cause {
  success,         ///< every rank ended with 0
  rank_failed,     ///< first_failure says which
  interrupted,     ///< by the signal in `signal`
  timeout,         ///< --timeout
  host_lost,       ///< `detail` names the first of `lost_hosts` and its reason
  output_failed,   ///< `detail` names the sink and reason
  preempted,       ///< `preempted` says by what; no rank failed
  sidecar_failed,  ///< the process beside the ranks; `detail` says how it ended
  hung,            ///< no rank made progress (job/hangs.h); `detail` says for how long
};

struct Outcome {
  Cause cause = Cause::success;
  int exit_code = 0;
  int signal = 0;                           ///< with Cause::interrupted
  std::optional<int> first_failure;         ///< id of the rank that failed first, by the time at its host
  std::optional<Preempted> preempted = {};  ///< whatever the cause is in the end
  std::string detail;
  std::vector<LostHost> lost_hosts;    ///< in the order of what was heard of them
  std::vector<std::string> leftovers;  ///< for each host, what could not be confirmed gone at the end
  std::vector<int> swept;              ///< lost hosts that had ranks, where a sweep confirmed that nothing is left
  std::vector<Unswept> unswept;        ///< `leftovers` names them, too
  std::vector<Hang> hangs;             ///< in the order of time
  std::vector<RankRecord> ranks;       ///< the index is the rank's id
  bool unread = false;                 ///< the reader of the output was too slow to be waited for
  bool may_restart = false;            ///< it failed, and its hosts wait for another round (job/rounds.h)
  std::string no_restart = {};         ///< what came after the failure and stands in a restart's way; may be empty
};

}  // namespace dlaunch::job
