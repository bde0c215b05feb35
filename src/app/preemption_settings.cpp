#include "app/preemption_settings.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/environment.h"
#include "base/text.h"
#include "base/time.h"
#include "job/job.h"
#include "output/file_layout.h"
#include "place/job_life.h"
#include "place/resource_manager.h"
#include "place/slurm.h"
#include "report/record_file.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "transport/ask_command.h"

namespace dlaunch::app {
namespace {

constexpr std::chrono::seconds kSlurmGrace{60};
constexpr std::chrono::seconds kSqueueLimit{5};
constexpr std::chrono::seconds kConfigurationLimit{2};  // of scontrol, qstat and qconf
constexpr size_t kLongestFile = 1u << 20;
constexpr int kMostAttempts = 1000000;

bool runs(const cli::Options& options) {
  return options.verb == cli::Verb::run && !options.dry_run && !options.show_env;
}

/// Slurm after 22.05 sets the job's end time in the environment. With an older Slurm, runs squeue.
std::optional<std::int64_t> slurm_job_end(const cli::Options& options) {
  const auto& environment = options.request.environment;
  if (auto end = place::job_end(environment)) return end;
  if (!runs(options) || !options.hosts.by_manager || options.policy.checkpoint.grace) return std::nullopt;
  const auto asked = transport::ask_command(
      "env SLURM_TIME_FORMAT=%s squeue -h -o %e -j " + shell_quote(variable(environment, "SLURM_JOB_ID").value_or("")),
      kSqueueLimit);
  return place::job_end({"SLURM_JOB_ID=", "SLURM_JOB_END_TIME=" + asked.text.substr(0, asked.text.find('\n'))});
}

/// The output of a batch system's command about the queue of this job.
std::string queue_settings(const std::string& command, std::string_view queue) {
  return transport::ask_command(command + ' ' + shell_quote(std::string(queue)), kConfigurationLimit).text;
}

/// The time until KILL after the USR2 of Grid Engine, less the time in which dlaunch stops ranks that did not end.
std::optional<std::chrono::milliseconds> grid_engine_grace(const cli::Options& options) {
  const auto& environment = options.request.environment;
  const auto queue = filled_variable(environment, "QUEUE");
  const bool in_job = filled_variable(environment, "SGE_ROOT") && filled_variable(environment, "JOB_ID");
  if (!in_job || !queue || options.policy.checkpoint.grace) return std::nullopt;
  const auto notify = place::grid_engine_notify(queue_settings("qconf -sq", *queue));
  if (!notify) return std::nullopt;
  const std::chrono::milliseconds all = std::chrono::seconds(*notify);
  return std::max(all / 2, all - options.policy.grace - job::kKillWait);
}

bool matches_a_file(const std::string& pattern) {
  glob_t found{};
  const bool matches = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0;
  ::globfree(&found);
  return matches;
}

/// Whether an attempt of that number has left files of ranks, or the record of the previous attempt.
bool has_traces(const cli::Options& options, int number) {
  std::error_code ignored;
  const auto& report = options.report_file;
  if (!report.empty() && std::filesystem::exists(report::kept_record(report, number - 1), ignored)) return true;
  if (!options.output.files) return false;
  const auto& files = *options.output.files;
  if (files.by_stream || output::is_template(files.target)) {
    return std::ranges::any_of(output::attempt_patterns(files, number), matches_a_file);
  }
  output::RankFacts facts;
  facts.attempt = number;
  const std::filesystem::path path = output::stacks_base(files, facts);
  return std::filesystem::exists(path.parent_path(), ignored);
}

}  // namespace

void resolve_preemption_deadline(cli::Options& options) {
  job::Checkpoint& checkpoint = options.policy.checkpoint;
  if (checkpoint.signal == 0) return;
  checkpoint.at_terminal = ::isatty(STDERR_FILENO) == 1;
  const auto& environment = options.request.environment;
  if (!place::slurm_job(environment)) {
    if (runs(options)) checkpoint.usual_grace = grid_engine_grace(options).value_or(checkpoint.usual_grace);
    return;
  }
  checkpoint.usual_grace = kSlurmGrace;
  checkpoint.by_step = options.hosts.by_manager;
  if (const auto end = slurm_job_end(options)) {
    const std::chrono::nanoseconds left = std::chrono::seconds(*end) - std::chrono::nanoseconds(sys::wall_ns());
    checkpoint.job_end = Clock::now() + left;
  }
}

void resolve_manager_kill_wait(cli::Options& options) {
  const auto& environment = options.request.environment;
  if (!runs(options) || !options.hosts.by_manager) return;
  const auto manager = place::manager_of(environment);
  if (!manager) return;
  if (const auto queue = filled_variable(environment, "PBS_QUEUE");
      queue && manager->kind == plan::Manager::Kind::pbs) {
    const auto delay = place::pbs_kill_delay(queue_settings("qstat -Qf", *queue));
    if (delay) options.policy.manager_kill_wait = std::chrono::seconds(*delay);
  }
  if (manager->kind != plan::Manager::Kind::slurm) return;
  // Each Slurm job has the file in its environment, so scontrol runs only on clusters that include files or send the
  // file.
  const auto file = filled_variable(environment, "SLURM_CONF");
  const auto text = file ? sys::read_file(*file, kLongestFile) : std::nullopt;
  auto seconds = text ? place::slurm_kill_wait(*text) : std::nullopt;
  if (!seconds)
    seconds = place::slurm_kill_wait(transport::ask_command("scontrol show config", kConfigurationLimit).text);
  if (seconds) options.policy.manager_kill_wait = std::chrono::seconds(*seconds);
}

void resolve_attempt(cli::Options& options) {
  const auto attempt = place::attempt_of(options.request.environment);
  if (!attempt) return;
  int number = attempt->number;
  while (!attempt->counted && number < kMostAttempts && has_traces(options, number)) ++number;
  options.request.attempt = number;
  if (number > 0) options.output.keep_logs = 0;
}

}  // namespace dlaunch::app
