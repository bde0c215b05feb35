#include "launcher/command_words.h"

namespace dlaunch::launcher {

bool is_dropped_login(std::string_view line) {
  return line.starts_with("Connection closed by ") || line.starts_with("Connection reset by ") ||
         line.starts_with("kex_exchange_identification: ");
}

bool is_ended_step(std::string_view line) {
  const bool of_slurm = line.starts_with("slurmstepd") || line.starts_with("srun: ");
  return of_slurm && (line.find("*** STEP ") != line.npos || line.find("*** JOB ") != line.npos);
}

bool is_ended_job(std::string_view line) {
  return line.starts_with("srun: error: ") &&
         (line.ends_with(" has expired") || line.find("Invalid job id specified") != line.npos);
}

}  // namespace dlaunch::launcher
