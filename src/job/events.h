// The events that a Job receives, and the actions that it requests. Plain values.
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

/// Translates times of a host: the launcher's time of an event is `time_ns - offset_ns`, give or take `error_ns`.
struct HostClock {
  std::int64_t offset_ns = 0;  ///< the host's CLOCK_REALTIME minus a clock of the launcher that never steps
  std::int64_t error_ns = 0;   ///< half the round trip of the measurement
  bool operator==(const HostClock&) const = default;
};

// ---- events ----
/// The host's agent is connected, and prepares the host; HostReady or HostLost follows.
struct HostReached {
  int host;
};
struct HostReady {
  int host;
};
struct HostLost {
  int host;
  std::string why;
  std::string hint = {};             ///< what the user can do; may be empty
  std::optional<Time> gone_by = {};  ///< the time by which the host's agent has ended its ranks
};
/// An agent received a signal from outside the job, for example from a batch system; its ranks may have received the
/// signal, too. The signal ends the job or announces its end.
struct HostTermination {
  int signal;
  std::int64_t time_ns;
  std::string
      who;  ///< "node2 received a termination signal", "Slurm job 5 was cancelled"; empty: the launcher got the signal
  int host = 0;
  HostClock clock = {};  ///< the clock of `time_ns`
  bool direct = true;    ///< a batch system that signals all processes of the host has signalled the ranks, too
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
  HostClock clock = {};       ///< of the rank's host
  bool after_signal = false;  ///< reaped after SignalRanks had reached the rank with a signal that ends ranks
};
/// Before the start: these ranks cannot start. No rank starts.
struct StartRefused {
  std::vector<RankEnded> ranks;
};
/// The rank called MPI_Abort. RankEnded still comes.
struct RankAborted {
  int rank;
  int code;  ///< 0…255
  std::int64_t time_ns;
  HostClock clock = {};  ///< of the rank's host
};
/// Appends a host to the job, for ranks that are added once the host is ready. Only while may_grow(). Losing the host
/// before it has a rank does not fail the job.
struct HostAdded {
  std::string name;
};
/// Starts another world on hosts that are ready. Only while may_grow(). Its ranks get the next ids.
struct RanksAdded {
  std::vector<int> host_of_rank;
};
/// Both streams of a rank have ended and all bytes were read, or no more bytes will come (not started, host lost).
struct RankDrained {
  int rank;
};
/// The sidecar ended; `detail` describes its end.
struct SidecarEnded {
  ExitStatus status;
  std::string detail;
};
/// The sidecar has ended or is lost, and all of its output was read.
struct SidecarGone {};
struct HostClean {
  int host;
  std::vector<std::string> left;
};
/// The answer to SweepHost.
struct HostSwept {
  int host;
  std::string unreached;  ///< why the host was not reached; empty: reached, and `left` lists the remaining processes
  std::vector<std::string> left = {};
  bool by_manager = false;  ///< the resource manager ends the job's processes there, and starts no agent for the sweep
};
/// This process was stopped while a host was swept. The sweep takes more time.
struct SweepDelayed {};
struct UserSignal {
  int signal;
  std::optional<int> sender = {};  ///< the pid of the sending process, if a process sent the signal
};
/// The job hangs, or may hang (job/hangs.h). The user was notified.
struct Hung {
  bool everyone = true;  ///< all ranks wait; false: only some
  std::string detail;
  std::int64_t time_ns = 0;
  std::string file = {};  ///< path of the stacks of all threads; empty: not written
};
/// The answer to TakeStacks.
struct StacksTaken {};
struct OutputFailed {
  std::string detail;
  int exit_code;
};
/// The answer to PrepareFiles.
struct FilesReady {};
/// Not all of the user's stdin can be read.
struct InputFailed {
  std::string detail;
};
using Event =
    std::variant<HostReached, HostReady, HostLost, HostTermination, RankStarted, RankEnded, StartRefused, RankAborted,
                 HostAdded, RanksAdded, RankDrained, SidecarEnded, SidecarGone, HostClean, HostSwept, SweepDelayed,
                 UserSignal, Hung, StacksTaken, OutputFailed, FilesReady, InputFailed>;

// ---- actions ----
/// All hosts are ready: changes files of earlier jobs. FilesReady or OutputFailed follows.
struct PrepareFiles {
  bool operator==(const PrepareFiles&) const = default;
};
struct StartRanks {
  int host;
  bool operator==(const StartRanks&) const = default;
};
/// Starts the ranks of the world on the host.
struct StartWorld {
  int world;
  int host;
  bool operator==(const StartWorld&) const = default;
};
struct SignalRanks {
  int signal;
  std::optional<int> host = {};  ///< only the ranks of this host
  bool operator==(const SignalRanks&) const = default;
};
/// Sends the checkpoint signal to the ranks with a handler, which may save their state until `until`.
struct CheckpointRanks {
  int signal;
  Time until;
  std::set<int> signalled = {};  ///< hosts whose ranks already received the signal
  bool operator==(const CheckpointRanks&) const = default;
};
struct FinishHost {
  int host;
  bool stay = false;  ///< the agent waits for another round
  bool operator==(const FinishHost&) const = default;
};
/// Requests a frame from the host's agent, which may be silent.
struct PingHost {
  int host;
  bool operator==(const PingHost&) const = default;
};
struct DropHost {
  int host;
  bool operator==(const DropHost&) const = default;
};
/// Loses a silent host: HostLost follows soon, unless the host was lost before.
struct LoseHost {
  int host;
  std::string why;
  bool operator==(const LoseHost&) const = default;
};
/// Starts a new agent that kills the remaining processes of the host's ranks.
struct SweepHost {
  int host;
  bool operator==(const SweepHost&) const = default;
};
/// Samples and prints the stacks of the ranks. The ranks are stopped after that.
struct TakeStacks {
  std::string why;
  bool operator==(const TakeStacks&) const = default;
};
/// Pauses the agents and stops the launcher's own process.
struct StopSelf {
  bool operator==(const StopSelf&) const = default;
};
struct Finished {
  bool operator==(const Finished&) const = default;
};
/// Comes after Finished: drops output that its reader has not read.
struct StopWaiting {
  bool operator==(const StopWaiting&) const = default;
};
using Action = std::variant<PrepareFiles, StartRanks, StartWorld, SignalRanks, CheckpointRanks, FinishHost, PingHost,
                            DropHost, LoseHost, SweepHost, TakeStacks, StopSelf, Finished, StopWaiting>;
using Actions = std::vector<Action>;

}  // namespace dlaunch::job
