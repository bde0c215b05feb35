// What ends a job and how. A value.
#pragma once

#include <chrono>
#include <optional>
#include <set>

#include "dlaunch/error.h"

namespace dlaunch::job {

/// How ranks save their state when the job's hosts are taken back (job/preemption.h).
struct Checkpoint {
  int signal = 0;                                       ///< --checkpoint-signal, sent to the ranks; 0: none is
  std::optional<std::chrono::milliseconds> grace = {};  ///< --preempt-grace: how long they have
  std::chrono::milliseconds usual_grace{25000};         ///< where `grace` is not given
  std::optional<std::chrono::steady_clock::time_point> job_end =
      {};                          ///< when a resource manager ends the job, if known
  int exit_code = kExitPreempted;  ///< --preempted-code: of a job all of whose ranks ended with 0 then
  bool at_terminal = false;        ///< a person may be there, who sends a signal twice
  bool by_step = false;            ///< who signals an agent signals its ranks, too, as Slurm does with a step
};

enum class OnHang { report, end, restart };

struct Policy {
  bool abort_on_failure = true;                           ///< --on-failure abort|continue
  std::chrono::milliseconds grace{5000};                  ///< between TERM and KILL
  std::optional<std::chrono::milliseconds> timeout = {};  ///< --timeout
  int timeout_exit_code = kExitTimeout;
  std::optional<std::chrono::milliseconds> after_first = {};  ///< --wait-after-first: the others' time to end
  std::set<int> no_restart_codes = {93};  ///< --no-restart-codes: exit codes of a rank that ask for no further round
  bool shrink = false;  ///< --shrink: where no spare host takes a lost one's ranks, the others go on without
  Checkpoint checkpoint = {};
  std::chrono::milliseconds hang_after{1800000};  ///< --hang-after: silence without progress; 0: never
  OnHang on_hang = OnHang::report;                ///< --on-hang
  bool highest_exit_code = false;  ///< of several ranks that failed, as srun has it; otherwise the first one's
};

}  // namespace dlaunch::job
