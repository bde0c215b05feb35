// What the commands that reach hosts say on their stderr, as far as it decides what becomes of the host. PURE.
#pragma once

#include <string_view>

namespace dlaunch::transport {

/// Whether OpenSSH's client says that sshd hung up on a login without a reason: throttled (MaxStartups) or killed.
bool is_dropped_login(std::string_view words);

/// Whether the line is never the reason of what follows: srun's remark about our --cpu-bind=none, which -Q lets pass.
bool is_remark(std::string_view line);

/// Whether Slurm has ended the step and all that was in it: by scancel, its time limit or a failed node.
bool is_ended_step(std::string_view line);

/// Whether that was because a node failed, and not for an order.
bool is_failed_node(std::string_view line);

/// Whether srun says which node it could not start a task on. It then ends the step on all others.
bool is_failed_launch(std::string_view line);

/// Whether srun says that the job is over: Slurm has ended all that was in it.
bool is_ended_job(std::string_view line);

/// What to do about it; empty: nothing is known.
std::string_view hint_about(std::string_view line);

}  // namespace dlaunch::transport
