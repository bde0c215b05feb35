// Recognizes stderr lines of commands that connect to hosts, if the lines decide about the host. PURE.
#pragma once

#include <string_view>

namespace dlaunch::transport {

/// True if OpenSSH's client reports that sshd closed the login without a reason: throttled (MaxStartups) or killed.
bool is_dropped_login(std::string_view words);

/// True if the line never is the cause of a failure: srun's remark about our --cpu-bind=none, printed despite -Q.
bool is_remark(std::string_view line);

/// True if Slurm ended the whole step: scancel, the time limit or a failed node.
bool is_ended_step(std::string_view line);

/// True if Slurm ended the step because a node failed.
bool is_failed_node(std::string_view line);

/// True if srun names the node of a failed task launch. srun then ends the step on all other nodes.
bool is_failed_launch(std::string_view line);

/// True if srun reports the end of the job: Slurm has ended all processes of the job.
bool is_ended_job(std::string_view line);

/// The hint for this line; empty if unknown.
std::string_view hint_about(std::string_view line);

}  // namespace dlaunch::transport
