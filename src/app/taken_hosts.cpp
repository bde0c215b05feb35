#include "app/taken_hosts.h"

#include <unistd.h>

#include <chrono>

#include "allocate/job_life.h"
#include "allocate/slurm.h"
#include "base/time.h"
#include "sys/clock.h"

namespace dlaunch::app {
namespace {

constexpr std::chrono::seconds kSlurmGrace{60};

}  // namespace

void settle_checkpoint(cli::Options& options) {
  job::Checkpoint& checkpoint = options.policy.checkpoint;
  if (checkpoint.signal == 0) return;
  checkpoint.at_terminal = ::isatty(STDERR_FILENO) == 1;
  const auto& environment = options.request.environment;
  if (!allocate::slurm_job(environment)) return;
  checkpoint.usual_grace = kSlurmGrace;
  checkpoint.by_step = options.hosts.by_manager;
  if (const auto end = allocate::job_end(environment)) {
    const std::chrono::nanoseconds left = std::chrono::seconds(*end) - std::chrono::nanoseconds(sys::wall_ns());
    checkpoint.job_end = Clock::now() + left;
  }
}

}  // namespace dlaunch::app
