#include "app/run_job.h"

#include <spdlog/logger.h>
#include <unistd.h>

#include "base/text.h"
#include "base/try.h"
#include "cli/open_files.h"
#include "cli/version.h"
#include "launcher/frames.h"
#include "launcher/launcher.h"
#include "report/log.h"
#include "report/record.h"
#include "report/record_file.h"
#include "report/status_line.h"
#include "report/summary.h"
#include "report/write_file.h"
#include "sys/clock.h"
#include "sys/installed.h"
#include "sys/limits.h"
#include "transport/remote_command.h"

namespace dlaunch::app {
namespace {

using output::Stream;

constexpr char kPmixProgram[] = "dlaunch-pmix";

report::JobStatus status_of(const job::Progress& progress, const plan::Plan& plan) {
  report::JobStatus status;
  if (!plan.remarks.empty()) status.remark = plan.remarks.front();
  if (progress.phase == job::Phase::starting ||
      (progress.phase == job::Phase::running && progress.started < progress.ranks)) {
    status.phase = report::JobStatus::Phase::starting;
  } else if (progress.phase == job::Phase::ending) {
    status.phase = report::JobStatus::Phase::ending;
  }
  status.started = progress.started;
  status.total = progress.ranks;
  status.missing = fold_names(progress.missing_hosts);
  status.waiting = progress.running;
  status.worlds = progress.worlds;
  status.signal = progress.signal;
  status.kill_at = progress.kill_at;
  return status;
}

std::string bindings_text(const plan::Plan& plan, const job::Outcome& outcome) {
  std::string text;
  const auto ranks = static_cast<size_t>(plan.worlds.size(1, static_cast<int>(plan.ranks.size())));
  for (size_t rank = 0; rank < ranks; ++rank) {
    const auto& host = plan.host(plan.ranks[rank].host).host.name;
    text += "dlaunch: rank " + std::to_string(rank) + " on " + host + ", pid " +
            std::to_string(outcome.ranks[rank].pid) + ": CPUs " + outcome.ranks[rank].cpus + '\n';
  }
  return text;
}

std::vector<report::RankOutput> rank_outputs(const output::Output& output, size_t ranks) {
  std::vector<report::RankOutput> outputs;
  for (int rank = 0; rank < static_cast<int>(ranks); ++rank) {
    outputs.push_back({output.bytes(rank, Stream::out), output.bytes(rank, Stream::err), output.path(rank, Stream::out),
                       output.path(rank, Stream::err)});
  }
  return outputs;
}

struct Span {
  std::int64_t start_ns = sys::wall_ns();
  Time start = Clock::now();
};

std::string outcome_text(const cli::Options& options, const plan::Plan& plan, const job::Outcome& outcome,
                         const output::Output& output, const Span& span) {
  report::Summary summary{plan, outcome, {}, {}, Clock::now() - span.start};
  summary.shell_there = [&](const plan::Host& host) { return transport::shell_there(options.exec, host); };
  auto who = outcome.first_failure;
  if (outcome.cause == job::Cause::sidecar_failed) who = static_cast<int>(plan.ranks.size());
  if (who) {
    summary.last_words = output.last_words(*who);
    summary.log_path = output.path(*who, Stream::err);
    if (summary.log_path.empty()) summary.log_path = output.path(*who, Stream::out);  // joined
  }
  return report::failure_summary(summary);
}

/// Before the job, since hours may lie between here and its record.
Result<void> check_report(const std::string& file) {
  if (file.empty()) return {};
  auto ok = report::check_can_write(file);
  if (!ok) ok.error().exit_code = kExitRefused;
  return ok;
}

cli::WayElsewhere way_elsewhere(const cli::Options& options) {
  return options.exec.empty() ? cli::WayElsewhere::ssh : cli::WayElsewhere::command;
}

/// Refuses what would fail later.
Result<std::unique_ptr<output::Output>> open_output(const cli::Options& options, const plan::Plan& plan,
                                                    output::StandardStreams& streams) {
  if (options.request.mpi == plan::Mpi::pmix && sys::installed_program(kPmixProgram).empty()) {
    return fail({"--mpi pmix", "this build of dlaunch has no PMIx", "", "build it where libpmix-dev is installed"});
  }
  const std::uint64_t need = cli::open_files_needed(plan, options.output, way_elsewhere(options));
  if (auto error = cli::too_few_open_files(plan, need, sys::open_files_limit())) return fail(*std::move(error));
  auto output = output::Output::open(options.output, launcher::rank_facts(plan), streams);
  if (!output) return output;
  TRY(check_report(options.report_file));  // the log directory may hold it
  return output;
}

/// Whether so many ranks at one time are too many for this process or an agent here.
std::optional<Error> cannot_hold(const cli::Options& options, const plan::Plan& plan,
                                 const std::vector<int>& ranks_of_host) {
  const std::uint64_t need = cli::open_files_needed(plan, ranks_of_host, options.output, way_elsewhere(options));
  return cli::too_few_open_files(plan, need, sys::open_files_limit());
}

/// `end_ns`: 0 while the job runs.
std::string record_text(const plan::Plan& plan, const job::Outcome& outcome, const output::Output& output,
                        const Span& span, std::int64_t end_ns) {
  const std::chrono::duration<double> wall = Clock::now() - span.start;
  return report::job_record_json({plan, outcome, plan::to_json(plan), cli::version(), cli::libraries(), span.start_ns,
                                  end_ns, wall.count(), rank_outputs(output, plan.ranks.size())});
}

/// 0, or the exit code for a record that could not be written.
int write_last_record(spdlog::logger& log, report::RecordFile& record, const plan::Plan& plan,
                      const job::Outcome& outcome, const output::Output& output, const Span& span) {
  if (!record.wanted()) return 0;
  const auto wrote = record.write(record_text(plan, outcome, output, span, sys::wall_ns()));
  return wrote ? 0 : report::complain(log, wrote.error());
}

}  // namespace

Result<int> run_job(const cli::Options& options, plan::Plan& plan, HostSession& session,
                    const std::function<void()>& before_start) {
  const Span span;
  output::StandardStreams& streams = session.streams();
  spdlog::logger& log = session.log();
  report::tell_notes(log, plan.notes);
  for (const std::string& remark : plan.remarks) log.info(remark);
  auto output = TRY(open_output(options, plan, streams));
  report::RecordFile record(options.report_file);
  report::StatusLine status(streams);
  std::optional<Error> output_lost;
  if (const std::string lost = (output)->overwritten(); !lost.empty()) log.info(lost);
  launcher::Launcher launcher(
      session.io(),
      {plan, session.settings(), options.policy, *output, session.hosts(), log,
       [&](const Error& error) {
         output_lost = error;
         report::complain(log, error);
       },
       [&](const job::Progress& progress) {
         status.update(status_of(progress, plan), Clock::now());
         status.tick(Clock::now());
       },
       [&](const job::Outcome& outcome) {
         if (plan.binding.report) log.error(bindings_text(plan, outcome));
         if (record.wanted_early())
           record.write_early(record_text(plan, outcome, *output, span, 0));  // for who attaches
       },
       before_start, [&](const std::vector<int>& ranks_of_host) { return cannot_hold(options, plan, ranks_of_host); },
       sys::installed_program(kPmixProgram)});
  job::Outcome outcome = launcher.run();
  session.close();
  const std::string told = outcome_text(options, plan, outcome, *output, span);
  if (output_lost && outcome.exit_code == 0) {
    outcome.cause = job::Cause::output_failed;
    outcome.detail = output_lost->what + ": " + output_lost->why;
    outcome.exit_code = output_lost->exit_code;
  }
  const int record_failed = write_last_record(log, record, plan, outcome, *output, span);
  if (!told.empty()) log.error(told);
  launcher.write_out();
  streams.give_up();
  return outcome.exit_code != 0 ? outcome.exit_code : record_failed;
}

}  // namespace dlaunch::app
