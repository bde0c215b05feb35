// The settings that decide which events end a job, and how the job ends. A value.
#pragma once

#include <chrono>
#include <optional>
#include <set>

#include "dlaunch/error.h"

namespace dlaunch::job {

/// The settings for a preemption: ranks save their state before a batch system takes the hosts back (job/preemption.h).
struct Checkpoint {
  int signal = 0;                                       ///< --checkpoint-signal, sent to the ranks; 0: no signal
  std::optional<std::chrono::milliseconds> grace = {};  ///< --preempt-grace: the time for saving
  std::chrono::milliseconds usual_grace{25000};         ///< used if `grace` is empty
  std::optional<std::chrono::steady_clock::time_point> job_end =
      {};                          ///< the time at which a resource manager ends the job, if known
  int exit_code = kExitPreempted;  ///< --preempted-code: exit code if all ranks exited with 0 after the signal
  bool at_terminal = false;        ///< stderr is a terminal: a second SIGTERM soon after the first kills the ranks
  bool by_step = false;            ///< the sender of the signal also signals the agent's ranks, as Slurm does in a step
};

enum class OnHang { report, end, restart };

struct Policy {
  bool abort_on_failure = true;                           ///< --on-failure abort|continue
  std::chrono::milliseconds grace{5000};                  ///< between TERM and KILL
  std::optional<std::chrono::milliseconds> timeout = {};  ///< --timeout
  int timeout_exit_code = kExitTimeout;
  std::optional<std::chrono::milliseconds> after_first = {};  ///< --wait-after-first: time for other ranks to end
  std::set<int> no_restart_codes = {93};  ///< --no-restart-codes: exit codes of a rank that prevent a restart
  bool shrink = false;  ///< --shrink: continue without the ranks of a lost host if no spare host is left
  Checkpoint checkpoint = {};
  std::chrono::milliseconds hang_after{1800000};  ///< --hang-after: time without output and progress; 0: never
  OnHang on_hang = OnHang::report;                ///< --on-hang
  std::optional<std::chrono::milliseconds> manager_kill_wait =
      {};                          ///< time from TERM to KILL of the resource manager that ends the job, if known
  bool in_batch_job = false;       ///< a batch system or Kubernetes may end the job with signals
  bool highest_exit_code = false;  ///< use the highest code of the failed ranks, as srun; false: the first code
};

}  // namespace dlaunch::job
