#include "app/taken_hosts.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "allocate/job_life.h"
#include "allocate/slurm.h"
#include "base/time.h"
#include "output/file_layout.h"
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

void settle_attempt(cli::Options& options) {
  const auto attempt = allocate::attempt_of(options.request.environment);
  if (!attempt) return;
  int number = attempt->number;
  if (options.output.files) {
    const auto is_used = [&] {
      output::RankFacts facts;
      facts.attempt = number;
      std::error_code ignored;
      const std::filesystem::path path = output::stacks_base(*options.output.files, facts);
      return std::filesystem::exists(path.parent_path(), ignored);
    };
    while (!attempt->counted && !output::is_template(options.output.files->target) && is_used()) ++number;
  }
  options.request.attempt = number;
  if (number > 0) options.output.keep_logs = 0;
}

}  // namespace dlaunch::app
