// Reads the end time of this process's batch job, and how often the job was requeued. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::place {

/// The end of the job, in seconds since the epoch: SLURM_JOB_END_TIME.
std::optional<std::int64_t> job_end(const std::vector<std::string>& environment);

/// The seconds between TERM and KILL of Slurm, from slurm.conf or the output of `scontrol show config`. nullopt: the
/// text does not set KillWait, or includes another file.
std::optional<int> slurm_kill_wait(std::string_view configuration);

/// The seconds between TERM and KILL of PBS, from the output of `qstat -Qf QUEUE`. nullopt: the queue does not set
/// kill_delay.
std::optional<int> pbs_kill_delay(std::string_view queue);

/// The seconds between USR2 and KILL of a job with `-notify`, from the output of Grid Engine's `qconf -sq QUEUE`.
/// nullopt: no limit, or no value for all hosts.
std::optional<int> grid_engine_notify(std::string_view queue);

/// The number of earlier runs of the job.
struct Attempt {
  int number = 0;
  bool counted = true;  ///< false: `number` is 1 for any number of earlier runs
  bool operator==(const Attempt&) const = default;
};

/// Reads DLAUNCH_ATTEMPT (from the user, for batch systems without such a variable); Slurm's SLURM_RESTART_COUNT; Grid
/// Engine's RESTARTED and LSF's LSB_RESTART, without a count. nullopt: unknown.
std::optional<Attempt> attempt_of(const std::vector<std::string>& environment);

}  // namespace dlaunch::place
