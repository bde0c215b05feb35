#include "app/preemption_settings.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/time.h"
#include "job/job.h"
#include "output/file_layout.h"
#include "place/place.h"
#include "report/record_file.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "transport/ask_command.h"

namespace dlaunch::app {
namespace {

constexpr std::chrono::seconds kEndLimit{5};            // of squeue
constexpr std::chrono::seconds kConfigurationLimit{2};  // of scontrol, qstat and qconf
constexpr size_t kLongestFile = 1u << 20;
constexpr int kMostAttempts = 1000000;

bool runs(const cli::Options& options) {
  return options.verb == cli::Verb::run && !options.dry_run && !options.show_env;
}

std::string answer_of(const std::string& command, std::chrono::seconds limit) {
  return transport::ask_command(command, limit).text;
}

/// The end of the job, from its environment or from the batch system.
std::optional<std::int64_t> job_end(const place::OwnEnd& own, const cli::Options& options) {
  if (own.preemption.end) return own.preemption.end;
  const bool asks = runs(options) && options.hosts.by_manager && !options.policy.checkpoint.grace;
  if (!asks || own.preemption.end_command.empty()) return std::nullopt;
  return own.manager->end_in(answer_of(own.preemption.end_command, kEndLimit));
}

/// The time until KILL after the batch system's signal, less the time in which dlaunch stops ranks that did not end.
std::optional<std::chrono::milliseconds> told_grace(const place::OwnEnd& own, const cli::Options& options) {
  const bool asks = runs(options) && !options.policy.checkpoint.grace;
  if (!asks || own.preemption.grace_command.empty()) return std::nullopt;
  const auto grace = own.manager->grace_in(answer_of(own.preemption.grace_command, kConfigurationLimit));
  if (!grace) return std::nullopt;
  const std::chrono::milliseconds all = *grace;
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
  const auto own = place::end_of_job(options.request.environment);
  if (!own) return;
  if (own->preemption.grace) checkpoint.usual_grace = *own->preemption.grace;
  if (const auto told = told_grace(*own, options)) checkpoint.usual_grace = *told;
  checkpoint.by_step = own->preemption.signals_steps && options.hosts.by_manager;
  if (const auto end = job_end(*own, options)) {
    const std::chrono::nanoseconds left = std::chrono::seconds(*end) - std::chrono::nanoseconds(sys::wall_ns());
    checkpoint.job_end = Clock::now() + left;
  }
}

void resolve_manager_kill_wait(cli::Options& options) {
  const place::ManagerRow* const manager = options.manager.manager;
  if (!runs(options) || !options.hosts.by_manager || !manager || !manager->kill_wait) return;
  const place::Setting where = manager->kill_wait(options.request.environment);
  const auto text = where.file.empty() ? std::nullopt : sys::read_file(where.file, kLongestFile);
  auto seconds = text ? manager->kill_wait_in(*text) : std::nullopt;
  if (!seconds && !where.command.empty())
    seconds = manager->kill_wait_in(answer_of(where.command, kConfigurationLimit));
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
