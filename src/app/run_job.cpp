#include <fcntl.h>
#include <spdlog/logger.h>

#include <atomic>
#include <type_traits>

#include "app/host_session.h"
#include "app/job_id.h"
#include "app/query_hosts.h"
#include "app/rendezvous.h"
#include "app/staged_files.h"
#include "base/try.h"
#include "dlaunch/run.h"
#include "launcher/frames.h"
#include "launcher/launcher.h"
#include "launcher/open_files.h"
#include "report/log.h"
#include "report/record.h"
#include "report/record_file.h"
#include "report/summary.h"
#include "report/version.h"
#include "report/write_file.h"
#include "sys/clock.h"
#include "transport/remote_command.h"

namespace dlaunch {
namespace {

using output::Stream;

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

/// Checks before the job whether the record can be written, because it may run for hours.
Result<void> check_report(const std::string& file) {
  if (file.empty()) return {};
  auto ok = report::check_can_write(file);
  if (!ok) ok.error().exit_code = kExitRefused;
  return ok;
}

/// One job, from opening its output to writing its record.
class JobRun final : public Listener {
 public:
  JobRun(plan::Plan& plan, app::HostSession& session)
      : plan_(plan), session_(session), options_(session.options()), record_(options_.report_file) {}

  Result<job::Outcome> run() {
    report::tell_notes(log(), plan_.notes);
    for (const std::string& remark : plan_.remarks) log().info(remark);
    TRY(open());
    launcher::Launcher launcher(session_.io(),
                                {plan_, options_, *output_, session_.hosts(), session_.ports(), *this, log()});
    job::Outcome outcome = launcher.run();
    session_.close();
    const std::string told = outcome_text(outcome);
    if (const auto& lost = launcher.output_lost(); lost && outcome.exit_code == 0) {
      outcome.cause = job::Cause::output_failed;
      outcome.detail = lost->what + ": " + lost->why;
      outcome.exit_code = lost->exit_code;
    }
    write_record(outcome);
    if (!told.empty()) log().error(told);
    launcher.write_out();
    session_.streams().give_up();
    return outcome;
  }

 private:
  spdlog::logger& log() { return session_.log(); }

  /// Opens the output, and refuses what would fail later.
  Result<void> open() {
    TRY(launcher::check_open_files(plan_, options_));
    output::Output::OnLine on_line;
    if (options_.lines) {
      on_line = [this](int id, Stream stream, std::string_view text) { session_.listener().line(id, stream, text); };
    }
    output_ = TRY(output::Output::open(options_.output, launcher::rank_facts(plan_), session_.streams(), on_line));
    TRY(check_report(options_.report_file));  // the log directory may hold it
    if (const std::string lost = output_->overwritten(); !lost.empty()) log().info(lost);
    return {};
  }

  void progress(const job::Progress& progress) override { session_.listener().progress(progress); }

  void all_started(const job::Outcome& outcome) override {
    if (plan_.binding.report) log().error(bindings_text(plan_, outcome));
    if (record_.wanted_early()) record_.write_early(record_text(outcome, 0));  // for those who attach a debugger
    session_.listener().all_started(outcome);
  }

  std::string outcome_text(const job::Outcome& outcome) const {
    report::Summary summary{plan_, outcome, {}, {}, Clock::now() - start_};
    summary.shell_there = [&](const plan::Host& host) { return transport::shell_there(options_.exec, host); };
    auto who = outcome.first_failure;
    if (outcome.cause == job::Cause::sidecar_failed) who = static_cast<int>(plan_.ranks.size());
    if (who) {
      summary.last_words = output_->last_words(*who);
      summary.log_path = output_->path(*who, Stream::err);
      if (summary.log_path.empty()) summary.log_path = output_->path(*who, Stream::out);  // joined
    }
    return report::failure_summary(summary);
  }

  /// `end_ns` is 0 while the job runs.
  std::string record_text(const job::Outcome& outcome, std::int64_t end_ns) const {
    std::vector<report::RankOutput> outputs;
    for (int rank = 0; rank < static_cast<int>(plan_.ranks.size()); ++rank) {
      outputs.push_back({output_->bytes(rank, Stream::out), output_->bytes(rank, Stream::err),
                         output_->path(rank, Stream::out), output_->path(rank, Stream::err)});
    }
    const std::chrono::duration<double> wall = Clock::now() - start_;
    return report::job_record_json({plan_, outcome, plan::to_json(plan_), report::version(), report::libraries(),
                                    start_ns_, end_ns, wall.count(), std::move(outputs)});
  }

  /// A record that cannot be written is reported, and fails a job that had no other failure.
  void write_record(job::Outcome& outcome) {
    if (!record_.wanted()) return;
    const auto wrote = record_.write(record_text(outcome, sys::wall_ns()));
    if (wrote) return;
    const int code = report::complain(log(), wrote.error());
    if (outcome.exit_code == 0) outcome.exit_code = code;
  }

  const std::int64_t start_ns_ = sys::wall_ns();
  const Time start_ = Clock::now();
  plan::Plan& plan_;
  app::HostSession& session_;
  const JobOptions& options_;
  report::RecordFile record_;
  std::unique_ptr<output::Output> output_;
};

/// Signals and children belong to the process, so only one session at a time uses them.
class Turn {
 public:
  Turn() : mine_(!taken().test_and_set()) {}
  ~Turn() {
    if (mine_) taken().clear();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool mine() const { return mine_; }

 private:
  static std::atomic_flag& taken() {
    static std::atomic_flag flag;
    return flag;
  }
  const bool mine_;
};

Listener::Level level_of(spdlog::level::level_enum level) {
  if (level >= spdlog::level::err) return Listener::Level::error;
  if (level == spdlog::level::warn) return Listener::Level::note;
  return level == spdlog::level::info ? Listener::Level::info : Listener::Level::detail;
}

/// Calls `use` with a session that speaks only to the listener and follows the options.
template <class Use>
auto with_session(const std::string& job_id, JobOptions options, Listener& listener, const Use& use)
    -> std::invoke_result_t<Use, app::HostSession&> {
  const Turn turn;
  if (!turn.mine()) {
    return fail({"", "this process runs a job already", "signals and children are the whole process's",
                 "run one job after the other, or each in a process of its own"});
  }
  if (!options.staged) options.staged = TRY(app::read_staged(options.stage));
  if (!options.console) options.output.console_ranks.emplace();
  const sys::Fd nowhere(options.console ? -1 : ::open("/dev/null", O_WRONLY | O_CLOEXEC));
  output::StandardStreams streams(options.console ? output::StandardStreams::Fds{}
                                                  : output::StandardStreams::Fds{nowhere.get(), nowhere.get()});
  const auto log = report::make_log(
      [&](spdlog::level::level_enum level, std::string_view lines) { listener.said(level_of(level), lines); });
  log->set_level(spdlog::level::debug);
  app::HostSession session(job_id, std::move(options), streams, *log, listener);
  return use(session);
}

}  // namespace

std::string make_job_id() { return app::make_job_id(); }

Result<void> find_slots(plan::Allocation& allocation, const allocate::HostRequest& asked, const JobOptions& options,
                        Listener& listener) {
  return with_session(make_job_id(), options, listener, [&](app::HostSession& session) -> Result<void> {
    const auto failed = app::find_slots(session, allocation, asked);
    if (!failed) return {};
    return fail({"", "hosts could not be asked for their slots", "", "see what was said of them", *failed});
  });
}

Result<job::Outcome> run(plan::Plan& plan, const JobOptions& options, Listener& listener) {
  return with_session(plan.job_id, options, listener, [&](app::HostSession& session) -> Result<job::Outcome> {
    session.ports() = TRY(app::arrange_rendezvous(plan, session.waiter()));
    return run(plan, session);
  });
}

Result<job::Outcome> run(plan::Plan& plan, app::HostSession& session) { return JobRun(plan, session).run(); }

}  // namespace dlaunch
