// What happens to a job, and what it asks for. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "dlaunch/exit_status.h"

namespace dlaunch::job {

// ---- events ----
struct HostReady {
  int host;
};
struct HostLost {
  int host;
  std::string why;
  std::string hint = {};  ///< the one thing to do; may be empty
};
/// Somebody has told the agent of a host, and maybe all that the job has there, to end, or that it will.
struct HostTermination {
  int signal;
  std::int64_t time_ns;
  std::string who;  ///< "node2 was told to end", "Slurm job 5 was cancelled"; empty: we are told ourselves
  int host = 0;
};
struct RankStarted {
  int rank;
  int pid;
  std::int64_t time_ns;
  std::string cpus;
};
struct RankEnded {
  int rank;
  ExitStatus status;
  std::int64_t time_ns;
};
/// The rank called MPI_Abort. RankEnded still comes.
struct RankAborted {
  int rank;
  int code;  ///< 0…255
  std::int64_t time_ns;
};
/// The job has one more host from now on, the last one, for ranks that are added once it is ready. Only while
/// may_grow(). Losing it before it has a rank is no failure of the job.
struct HostAdded {
  std::string name;
};
/// Another world begins on hosts that are ready, only while may_grow(). Its ranks have the next ids.
struct RanksAdded {
  std::vector<int> host_of_rank;
};
/// Both streams of a rank have ended and every byte was taken; or there will be none (not started, host lost).
struct RankDrained {
  int rank;
};
/// The sidecar ended; `detail` says how.
struct SidecarEnded {
  ExitStatus status;
  std::string detail;
};
/// The sidecar has ended or is lost, and no more of its output will come.
struct SidecarGone {};
struct HostClean {
  int host;
  std::vector<std::string> left;
};
/// The answer to SweepHost.
struct HostSwept {
  int host;
  std::string unreached;  ///< why it was not reached; empty: it was reached, and `left` is left there
  std::vector<std::string> left = {};
};
struct UserSignal {
  int signal;
  std::optional<int> sender = {};  ///< the pid of the process that sent it, if it was one
};
/// The job hangs, or may (job/hangs.h). It was told.
struct Hung {
  bool everyone = true;  ///< else some ranks wait, and others do not
  std::string detail;
  std::int64_t time_ns = 0;
  std::string file = {};  ///< the stacks of all threads; empty: none
};
/// The answer to TakeStacks.
struct StacksTaken {};
struct OutputFailed {
  std::string detail;
  int exit_code;
};
using Event = std::variant<HostReady, HostLost, HostTermination, RankStarted, RankEnded, RankAborted, HostAdded,
                           RanksAdded, RankDrained, SidecarEnded, SidecarGone, HostClean, HostSwept, UserSignal, Hung,
                           StacksTaken, OutputFailed>;

// ---- actions ----
struct StartRanks {
  int host;
  bool operator==(const StartRanks&) const = default;
};
/// Start the ranks of this world on this host.
struct StartWorld {
  int world;
  int host;
  bool operator==(const StartWorld&) const = default;
};
struct SignalRanks {
  int signal;
  bool operator==(const SignalRanks&) const = default;
};
/// Have the ranks that catch the signal save their state; they have until then.
struct CheckpointRanks {
  int signal;
  Time until;
  std::set<int> told = {};  ///< hosts whose ranks have got the signal already
  bool operator==(const CheckpointRanks&) const = default;
};
struct FinishHost {
  int host;
  bool stay = false;  ///< its agent is to wait for another round
  bool operator==(const FinishHost&) const = default;
};
struct DropHost {
  int host;
  bool operator==(const DropHost&) const = default;
};
/// A new agent is to end what the ranks of this host left there.
struct SweepHost {
  int host;
  bool operator==(const SweepHost&) const = default;
};
/// What the ranks do is to be sampled and shown: they end after that.
struct TakeStacks {
  std::string why;
  bool operator==(const TakeStacks&) const = default;
};
/// The launcher tells the agents to pause, and stops its own process.
struct StopSelf {
  bool operator==(const StopSelf&) const = default;
};
struct Finished {
  bool operator==(const Finished&) const = default;
};
/// Comes after Finished: the output that the reader has not taken is dropped.
struct StopWaiting {
  bool operator==(const StopWaiting&) const = default;
};
using Action = std::variant<StartRanks, StartWorld, SignalRanks, CheckpointRanks, FinishHost, DropHost, SweepHost,
                            TakeStacks, StopSelf, Finished, StopWaiting>;
using Actions = std::vector<Action>;

}  // namespace dlaunch::job
