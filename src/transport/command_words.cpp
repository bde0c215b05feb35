#include "transport/command_words.h"

namespace dlaunch::transport {

bool is_dropped_login(std::string_view words) {
  return words.find("Connection closed by ") != words.npos || words.find("Connection reset by ") != words.npos;
}

bool is_remark(std::string_view line) { return line == "srun: cluster configuration lacks support for cpu binding"; }

bool is_ended_step(std::string_view line) {
  const bool of_slurm = line.starts_with("slurmstepd") || line.starts_with("srun: ");
  return of_slurm && (line.find("*** STEP ") != line.npos || line.find("*** JOB ") != line.npos);
}

bool is_failed_node(std::string_view line) { return line.find(" DUE TO NODE FAILURE") != line.npos; }

bool is_failed_launch(std::string_view line) {
  return line.starts_with("srun: error: Task launch for ") && line.find(" failed on node ") != line.npos;
}

bool is_ended_job(std::string_view line) {
  return line.starts_with("srun: error: ") &&
         (line.ends_with(" has expired") || line.find("Invalid job id specified") != line.npos);
}

std::string_view hint_about(std::string_view line) {
  if (!line.starts_with("error: executing task of job ") || !line.ends_with("didn't accept task")) return "";
  return "check with qconf -sp that control_slaves is TRUE in the parallel environment, or use --transport ssh";
}

}  // namespace dlaunch::transport
