// A process of a simulated host, and the system calls about processes that its code makes. Passive.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "sys/fd.h"
#include "time/fiber.h"
#include "wire/codec.h"

namespace sim {

inline constexpr int kAbortCode = 5;  ///< of MPI_Abort

/// Where link::Signals of a process receives its signals (system/signals.cpp).
class SignalReceiver {
 public:
  virtual ~SignalReceiver() = default;
  /// Returns false if the process did not ask for the signal.
  virtual bool deliver(int signal) = 0;
};

struct Process {
  enum class Kind { guardian, worker, rank, daemon, preparer };
  /// Why a rank ended, by the truth of the world.
  enum class End { none, by_itself, by_signal_of_agent, by_kernel };

  int pid = 0;
  int parent = 0;  ///< 0: the init process of its host, which reaps at once
  Kind kind = Kind::rank;
  int host = 0;
  int agent = 0;  ///< index of the agent whose descendant it is
  int rank = -1;  ///< of a rank or its daemon
  int round = 0;
  Ns began = 0;

  bool alive = true;
  bool zombie = false;
  bool stopped = false;
  std::optional<int> change = {};  ///< wait status of a stop or continuation that the parent has not seen
  int wait_status = 0;
  End end = End::none;
  Ns ended = 0;
  bool got_kill = false;
  std::optional<Ns> asked = {};  ///< when it got TERM, INT or HUP, and was not stopped
  std::set<int> pending = {};    ///< signals: blocked by a guardian, or of a stopped process
  std::set<int> ignored = {};
  std::unique_ptr<Fiber> fiber = {};  ///< of a guardian or worker
  SignalReceiver* receiver = nullptr;
  bool poked = true;         ///< something happened that its loop may wait for
  dlaunch::sys::Fd in = {};  ///< of a rank: the world's copies of its descriptors
  dlaunch::sys::Fd out = {};
  dlaunch::sys::Fd err = {};
  dlaunch::sys::Fd mpi = {};  ///< a PMI-1 connection, until MPI_Finalize
  int mpi_calls = 0;
  bool spawned = false;            ///< MPI_Comm_spawn succeeded
  std::optional<Ns> aborted = {};  ///< the time of its call of MPI_Abort
  int lines = 0;
  std::unique_ptr<dlaunch::wire::Decoder> frames = {};  ///< of a preparer

  /// The environment of the process has the marks of the job.
  bool runs_job() const { return kind != Kind::guardian && kind != Kind::worker; }
};

}  // namespace sim
