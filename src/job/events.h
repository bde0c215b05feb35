// What happens to a job, and what it asks for. Values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

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
};
struct OutputFailed {
  std::string detail;
  int exit_code;
};
using Event = std::variant<HostReady, HostLost, RankStarted, RankEnded, RankAborted, HostAdded, RanksAdded, RankDrained,
                           SidecarEnded, SidecarGone, HostClean, HostSwept, UserSignal, OutputFailed>;

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
struct FinishHost {
  int host;
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
using Action =
    std::variant<StartRanks, StartWorld, SignalRanks, FinishHost, DropHost, SweepHost, StopSelf, Finished, StopWaiting>;
using Actions = std::vector<Action>;

}  // namespace dlaunch::job
