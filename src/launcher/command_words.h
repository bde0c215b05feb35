// What the commands that reach hosts say on their stderr, as far as it decides what becomes of the host. PURE.
#pragma once

#include <string_view>

namespace dlaunch::launcher {

/// Whether OpenSSH's client says that sshd hung up on a login without a reason: throttled (MaxStartups) or killed.
bool is_dropped_login(std::string_view line);

/// Whether Slurm has ended the step and all that was in it: by scancel, its time limit or a failed node.
bool is_ended_step(std::string_view line);

/// Whether srun says that the job is over: Slurm has ended all that was in it.
bool is_ended_job(std::string_view line);

}  // namespace dlaunch::launcher
