#include "session/job_run.h"

#include <poll.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/printable.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"
#include "launcher/frames.h"
#include "launcher/open_files.h"
#include "plan/environment.h"
#include "report/bindings.h"
#include "report/lines.h"
#include "report/log.h"
#include "report/version.h"
#include "report/write_file.h"
#include "session/components.h"
#include "session/error_files.h"
#include "session/file_names.h"
#include "session/patience.h"
#include "session/rendezvous.h"
#include "sys/clock.h"
#include "sys/process_state.h"
#include "transport/command.h"

namespace dlaunch::session {

namespace {

using output::Stream;

/// Adds the signals of a job: the signals in sys::kJobSignals that this process does not ignore, and always
/// JobOptions::stacks_on.
void take_signals(link::Signals& signals, const JobOptions& options) {
  for (const int signal : sys::kJobSignals) {
    const bool kept = sys::is_kept(signal);
    if (!kept || signal == options.stacks_on) signals.add(signal, kept);
  }
}

/// The first line of the summary of a failed job; empty after a success.
std::string headline(const job::Outcome& outcome, std::string_view told) {
  constexpr std::string_view kStart = "dlaunch: ";
  if (outcome.exit_code == 0) return {};
  std::string line(told.substr(0, told.find('\n')));
  if (line.starts_with(kStart)) line.erase(0, kStart.size());
  return line.empty() ? "the job failed with exit code " + std::to_string(outcome.exit_code) : line;
}

/// Calls step() until it returns -1, each time when the descriptor that it returned is readable.
void await(const std::function<int()>& step, Time until) {
  for (int fd = step(); fd >= 0 && Clock::now() < until; fd = step()) {
    pollfd readable{fd, POLLIN, 0};
    ::poll(&readable, 1, milliseconds_until(until));
  }
}

std::string last_words(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += '\n' + printable(line);
  return text;
}

}  // namespace

JobRun::JobRun(plan::Plan first, HostSession& session, PlanWithout plan_without)
    : start_ns_(sys::wall_ns()),
      session_(session),
      options_(session.options()),
      hosts_(first.restarts > 0 ? first : plan::Plan{}, session.hosts(), options_.policy, std::move(plan_without)),
      round_plan_(std::move(first)),
      rounds_(options_.policy, plan().restarts),
      round_start_ns_(start_ns_),
      signals_(session.io()),
      record_(options_.report_file),
      junit_(options_.junit_file, report::WriteAs().mode),
      pid_file_(session.pid_file()) {
  options_.output.read_all = options_.output.read_all || options_.progress;
}

Result<job::Outcome> JobRun::run() {
  report::log_notes(log(), plan().notes);
  for (const std::string& remark : plan().remarks) log().info(remark);
  TRY(launcher::check_open_files(plan(), options_));
  TRY(open_first());
  for (;;) {
    auto round = launcher();
    job::Outcome outcome = round->run();
    if (outcome.may_restart) {
      const job::Outcome& now = round->settle();
      std::tie(outcome.may_restart, outcome.no_restart) = std::tie(now.may_restart, now.no_restart);
      outcome.lost_hosts = now.lost_hosts;
    }
    const report::Summary round_summary = summary(outcome);
    auto lost = std::exchange(outcome.lost_hosts, hosts_.needed(outcome.lost_hosts));
    const job::Rounds::Verdict verdict = rounds_.ended(outcome, Clock::now() - round_start(outcome), hosts_.spares(),
                                                       failed_on(outcome), round_summary.last_lines, Clock::now());
    outcome.lost_hosts = std::move(lost);
    std::string told = report::failure_summary(round_summary);
    if (!verdict.again) {
      if (!verdict.why_not.empty()) told += "dlaunch: no restart: " + verdict.why_not + '\n';
      if (verdict.in_vain && options_.policy.checkpoint.signal != 0) outcome.exit_code = kExitInVain;
      return finish(*round, std::move(outcome), told);
    }
    const std::string cause = report::cause_text(round_summary);
    const std::string unswept = report::unswept_text(round_summary);
    const std::int64_t ended_ns = sys::wall_ns();
    for (const job::Unswept& each : outcome.unswept) unswept_.push_back(plan().host(each.host).host);
    round.reset();
    start_at_ = verdict.start_at;
    if (auto ready = make_ready(outcome, verdict.replaced); !ready) {
      log().error(told);
      if (ready.error().exit_code == kExitRefused) ready.error().exit_code = outcome.exit_code;  // ranks ran
      record_as_last(std::move(outcome), ready.error());
      return tl::unexpected(std::move(ready).error());
    }
    log().error(report::restart_text(cause, rounds_.number(), rounds_.restarts(), verdict.wait) + unswept +
                std::exchange(moves_, {}));
    past_.push_back(
        {outcome.cause, cause, outcome.first_failure, round_start_ns_, ended_ns, report::progress_span(outcome.ranks)});
  }
}

/// Prepares the next round.
Result<void> JobRun::make_ready(const job::Outcome& outcome, const std::string& guilty) {
  moves_ = TRY(hosts_.choose(outcome, guilty, rounds_.number()));
  plan::Plan next = TRY(plan_round());
  TRY(open(next, nullptr));
  round_plan_ = plan::RoundPlan(std::move(next));
  return {};
}

/// Records the ended round as the last one: preparing the next round failed with `error`.
void JobRun::record_as_last(job::Outcome outcome, const Error& error) {
  session_.close();
  outcome.exit_code = error.exit_code;
  if (outcome.detail.empty()) outcome.detail = "no restart: " + what_and_why(error);
  write_record(outcome, error.what, nullptr);
}

std::unique_ptr<launcher::Launcher> JobRun::launcher() {
  round_start_ = start_at_.value_or(Clock::now());
  round_start_ns_ = sys::wall_ns();
  error_texts_.clear();
  launcher::Round round{.may_follow = !rounds_.is_last(),
                        .start_at = start_at_,
                        .files_first = has_directories_in_logs(),
                        .begin_others = [this](const launcher::RoundOutput::Begun& begun) { begin_others(begun); },
                        .others_step = [this] { return error_files_ ? error_files_->step() : ""; }};
  return std::make_unique<launcher::Launcher>(
      session_.io(),
      launcher::Launcher::Parts{round_plan_, options_, *output_, session_.hosts(), session_.ports(), signals_, *this,
                                log(), make_components, std::move(round), &error_texts_});
}

/// Signals and the time limit end a wait for a disk.
Result<void> JobRun::open_first() {
  const auto limit = options_.policy.timeout;
  Patience& patience = patience_.emplace(limit ? start_ + *limit : Time::max());
  const sys::Wait wait = [&](std::span<pollfd> fds, Time deadline) { return patience.wait(fds, deadline); };
  auto opened =
      check_linked_names(options_, session_.pid_file(), session_.read_files(), session_.streams(), plan(), wait);
  if (opened) opened = open(plan(), &wait);
  if (!opened && patience.is_over()) {
    Error& error = opened.error();
    constexpr std::string_view kCannot = "cannot ";
    const bool is_disk = Clock::now() - start_ >= std::chrono::seconds(1) && error.what.starts_with(kCannot);
    const std::string hint = is_disk ? kWaitedForDisk + error.what.substr(kCannot.size()) : "";
    error = interrupted_error(patience.signal());
    if (patience.signal() == 0) {
      error.what = "timed out after " + report::duration_text(Clock::now() - start_);
      error.exit_code = options_.policy.timeout_exit_code;
    }
    error.hint = hint;
  }
  if (!opened) record_unstarted(opened.error(), wait);
  if (!opened) return opened;
  take_signals(signals_, options_);
  sys::SignalSenders::note();
  patience.release();
  use_up_time();
  return {};
}

/// `wait`: in the first round, which locks its files before it connects to hosts: a refused job changes nothing. A
/// later round locks and creates its files on the loop (launcher/start_files.h).
Result<void> JobRun::open(const plan::Plan& plan, const sys::Wait* wait) {
  output::Output::OnLine on_line;
  if (options_.lines) {
    on_line = [this](int id, Stream stream, std::string_view text) { session_.listener().line(id, stream, text); };
  }
  error_files_.reset();  // of the round before
  if (output_) output_->close_files();
  error_files_ = TRY(LockedErrorFiles::open(plan));
  output_ = TRY(output::Output::open(options_.output, launcher::rank_facts(plan), session_.streams(), on_line));
  if (!wait) return {};
  // Early, because the job may run for hours. The record may be in the log directory.
  if (error_files_) TRY(error_files_->lock(*wait));
  TRY(output_->claim(*wait));
  TRY(claim_records(*wait));
  TRY(pid_file_.claim(*wait));
  return pid_file_.write(*wait);
}

Result<void> JobRun::claim_records(const sys::Wait& wait) {
  if (std::exchange(asked_records_, true)) return {};
  record_.keep_earlier(plan().attempt.value_or(0));
  TRY(record_.claim(wait));
  TRY(junit_.claim(wait));
  has_records_ = true;
  return {};
}

/// The record of a job whose disk does not respond: an earlier record may show a success.
void JobRun::record_unstarted(const Error& error, const sys::Wait& wait) {
  if (error.exit_code != kExitOutput || !claim_records(wait) || !has_records_) return;
  job::Outcome outcome;
  outcome.cause = job::Cause::output_failed;
  outcome.detail = what_and_why(error);
  outcome.ranks.resize(plan().ranks.size());
  record_as_last(std::move(outcome), error);
}

/// A directory of --keep-logs is renamed before a rank gets a directory in it.
bool JobRun::has_directories_in_logs() const {
  const std::string logs = renamed_directory(options_.output);
  if (logs.empty()) return false;
  return std::ranges::any_of(plan().ranks,
                             [&](const plan::Rank& rank) { return (rank.dir + '/').starts_with(logs + '/'); });
}

/// After Output::begin(), on the loop.
void JobRun::begin_others(const launcher::RoundOutput::Begun& begun) {
  report_overwritten(*output_);
  begun_ = true;
  error_files_ ? error_files_->empty(session_.io(), begun) : begun({});
}

void JobRun::report_overwritten(const output::Output& output) {
  const std::string lost = !begun_ ? output.overwritten() : "";
  if (!lost.empty()) log().info(lost);
}

/// The host of the rank that failed first.
std::string JobRun::failed_on(const job::Outcome& outcome) const {
  return outcome.first_failure ? plan().host_of(plan().rank(*outcome.first_failure)).host.name : "";
}

/// Plans the next round: the first round's ranks on the same hosts, with new ports.
Result<plan::Plan> JobRun::plan_round() {
  PlannedJob job = TRY(with_rendezvous(plan::of_round(hosts_.planned(), rounds_.number()), session_.waiter()));
  session_.ports() = std::move(job.held);
  job.plan.notes = hosts_.planned().notes;
  auto next = TRY(with_error_files(options_.error_file, std::move(job.plan)));
  if (begun_) options_.output.keep_logs = 0;
  use_up_time();
  return next;
}

/// The next round gets the rest of the time limit.
void JobRun::use_up_time() {
  if (!options_.policy.timeout) return;
  const auto left = *session_.options().policy.timeout - (Clock::now() - start_);
  options_.policy.timeout = std::max(std::chrono::milliseconds(1), std::chrono::ceil<std::chrono::milliseconds>(left));
}

/// `told`: the summary of the last round.
job::Outcome JobRun::finish(launcher::Launcher& launcher, job::Outcome outcome, const std::string& told) {
  session_.close();
  if (const auto& lost = launcher.output_lost(); lost && outcome.exit_code == 0) {
    outcome.cause = job::Cause::output_failed;
    outcome.detail = lost->what + ": " + lost->why;
    outcome.exit_code = lost->exit_code;
  }
  const std::string cause = headline(outcome, told);
  write_record(outcome, cause, &launcher);
  if (options_.results_table) log().error(report::results_table(results(outcome)));
  if (!told.empty()) log().error(told);
  if (options_.github && !cause.empty()) {
    log().error(report::github_error("dlaunch", cause + last_words(summary(outcome).last_lines)));
  }
  progress({.phase = job::Phase::finished});  // the status line is removed
  launcher.write_out();
  session_.streams().give_up();
  return outcome;
}

void JobRun::all_started(const job::Outcome& outcome) {
  if (plan().binding.report) log().error(report::bindings_text(plan(), outcome));
  if (record_.wanted_early()) record_.write_early(record_text(outcome, 0));  // for users who attach a debugger
  session_.listener().all_started(outcome);
}

report::Summary JobRun::summary(const job::Outcome& outcome) const {
  const Time at = outcome.cause_at.value_or(Clock::now());
  const bool waits = at < round_start(outcome);  // for a restart
  const Time start = waits || outcome.cause == job::Cause::timeout ? start_ : round_start(outcome);
  report::Summary summary{plan(), outcome, {}, {}, at - start};
  if (outcome.ended_at) summary.ended = *outcome.ended_at - start;
  summary.subcommands = options_.subcommands;
  summary.unswept_before = unswept_;
  summary.shell_there = [&](const plan::Host& host) { return transport::shell_there(options_.exec, host); };
  auto who = outcome.first_failure;
  if (outcome.cause == job::Cause::sidecar_failed) who = static_cast<int>(plan().ranks.size());
  // The user has the whole session of a single rank on the screen.
  const bool is_seen = options_.output.pty && plan().ranks.size() == 1 && ::isatty(STDIN_FILENO) == 1 &&
                       ::isatty(session_.streams().fd(Stream::out)) == 1;
  if (who && !is_seen) {
    output::LastLines last = output_->last_lines(*who);
    summary.last_lines = std::move(last.lines);
    summary.stream = std::move(last.stream);
    summary.log_path = std::move(last.path);
  }
  auto written =
      who && outcome.cause == job::Cause::rank_failed ? read_error_file(plan(), *who, error_texts_) : std::nullopt;
  if (written) {
    summary.last_lines = std::move(written->words);
    summary.error_file = std::move(written->path);
  }
  return summary;
}

/// `end_ns` is 0 during the job.
std::string JobRun::record_text(const job::Outcome& outcome, std::int64_t end_ns) const {
  std::vector<report::RankOutput> outputs;
  for (int rank = 0; rank < static_cast<int>(plan().ranks.size()); ++rank) {
    outputs.push_back({output_->bytes(rank, Stream::out), output_->bytes(rank, Stream::err),
                       output_->path(rank, Stream::out), output_->path(rank, Stream::err)});
  }
  const std::chrono::duration<double> wall = Clock::now() - start_;
  return report::job_record_json({plan(), outcome, plan::to_json(plan()), report::version(), report::libraries(),
                                  start_ns_, end_ns, wall.count(), std::move(outputs), past_});
}

std::vector<report::RankResult> JobRun::results(const job::Outcome& outcome) const {
  return report::rank_results(plan(), outcome, [this](int rank, bool failed) {
    return (failed ? output_->last_lines(rank) : output_->newest_lines(rank)).lines;
  });
}

/// Writes the results and then the record, which has the exit code, in kWriterWait together. Reports a file that cannot
/// be written; such a failure fails an otherwise successful job. `launcher`: waits on its loop; else signals do not end
/// the wait.
void JobRun::write_record(job::Outcome& outcome, const std::string& cause, launcher::Launcher* launcher) {
  const Time until = Clock::now() + report::kWriterWait;
  const auto write = [&](report::RecordFile& file, std::string text, Time last) {
    file.write(std::move(text), last);
    const Time start = Clock::now();
    const auto step = [&] { return file.step(); };
    launcher ? launcher->await(step, last - start) : await(step, last);
    const auto wrote = file.written(Clock::now() - start);
    if (wrote) return;
    const int code = report::complain(log(), wrote.error());
    if (outcome.exit_code == 0) outcome.exit_code = code;
  };
  if (junit_.wanted()) {
    const std::chrono::duration<double> wall = Clock::now() - start_;
    write(junit_, report::results_junit(results(outcome), wall.count(), cause), until - report::kWriterWait / 2);
  }
  if (record_.wanted()) write(record_, record_text(outcome, sys::wall_ns()), until);
}

}  // namespace dlaunch::session
