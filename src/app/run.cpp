#include "app/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <system_error>

#include "app/commands.h"
#include "app/console_listener.h"
#include "app/job_key.h"
#include "app/planned_job.h"
#include "app/same_line.h"
#include "ascend/job_table.h"
#include "ascend/ranktable_command.h"
#include "base/environment.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/files.h"
#include "dlaunch/plan.h"
#include "dlaunch/run.h"
#include "grammars/command_line.h"
#include "launcher/open_files.h"
#include "plan/environment.h"
#include "report/log.h"
#include "session/fact_finder.h"
#include "session/host_session.h"
#include "settle/settle.h"
#include "sys/inherited.h"
#include "sys/installed.h"
#include "sys/randomness.h"

namespace dlaunch::app {

using output::StandardStreams;

namespace {

constexpr int kBroken = 70;  // sysexits' EX_SOFTWARE: an internal error

/// Opens /dev/null on closed stdin, stdout or stderr, so that a later open() cannot reuse descriptors 0 to 2.
void open_standard_fds() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

/// `read` gets the names of the files that dlaunch reads.
cli::ProcessContext read_process_context(std::vector<std::string>& read) {
  cli::ProcessContext context;
  context.environment = own_environment();
  context.read_file = [&read](const std::string& path, const cli::ReadLimit& limit) {
    auto text = cli::read_whole_file(path, limit);
    if (text) read.push_back(path);
    return text;
  };
  context.place = place::read_place(context.environment, [&read](const std::string& path) {
    read.push_back(path);
    return cli::read_text(path);
  });
  char cwd[PATH_MAX];
  context.cwd = ::getcwd(cwd, sizeof cwd) ? cwd : "";
  context.random_name = sys::random_hex(4);
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char digits[16];
  if (::localtime_r(&now, &local) && std::strftime(digits, sizeof digits, "%Y%m%d%H%M%S", &local) > 0) {
    context.start_time = digits;
  }
  context.in_path = [path = search_path(context.environment)](const std::string& program) {
    return sys::is_in_path(program, path);
  };
  return context;
}

Result<int> show_env(const cli::Options& options, StandardStreams& streams, spdlog::logger& log,
                     const plan::Plan& plan) {
  const plan::Rank& rank = plan.rank(*options.show_env);
  const auto& host = plan.host_of(rank).host;
  if (plan.rank_table && (!host.local || plan.rank_table->path.empty())) {
    log.warn("the rank also gets RANK_TABLE_FILE, the path of the rank table on its host");
  }
  if (options.format == cli::Format::json) return streams.print(plan::rank_environment_json(plan, rank));
  std::string text;
  for (const std::string& entry : plan::rank_environment(plan, rank)) text += entry + '\n';
  return streams.print(text);
}

/// Prints the output of --display-map and similar options.
Result<void> print_requested(const cli::Options& options, const plan::Allocation& allocation, const plan::Plan& plan,
                             StandardStreams& streams, spdlog::logger& log) {
  std::string text;
  if (options.show_allocation) text += plan::to_table(allocation);
  if (options.show_map) text += plan::to_map(plan);
  const std::string pid = std::to_string(::getpid()) + '\n';
  if (options.report_pid == "-") text += pid;
  TRY(streams.print(text));
  if (options.report_pid == "+") log.error(pid);
  return {};
}

/// A terminal without control sequences gets no status line.
report::StatusSettings status_settings(const cli::Options& options) {
  const bool dumb = variable(options.request.environment, "TERM") == "dumb";
  return {.drawn = options.status.has_value() && !dumb, .quiet = options.status.value_or(std::chrono::milliseconds(0))};
}

/// The session of a job: created at the first need of a host.
class SessionOnDemand {
 public:
  /// `nodes`: the transport to nodes with the same command line; null: the options choose the transport.
  SessionOnDemand(const cli::Options& job, StandardStreams& streams, spdlog::logger& log,
                  const std::vector<std::string>& read_files, transport::Transport* nodes)
      : job_(job),
        streams_(streams),
        log_(log),
        listener_(streams, status_settings(job)),
        read_files_(read_files),
        nodes_(nodes) {}

  session::HostSession& get() {
    if (session_) return *session_;
    session_.emplace(job_.request.job_id, job_.of_job(), streams_, log_, listener_, nodes_);
    session_->own_process();
    session_->read_files() = read_files_;
    return *session_;
  }
  bool exists() const { return session_.has_value(); }
  ConsoleListener& listener() { return listener_; }

 private:
  const cli::Options& job_;
  StandardStreams& streams_;
  spdlog::logger& log_;
  ConsoleListener listener_;
  const std::vector<std::string>& read_files_;
  transport::Transport* const nodes_;
  std::optional<session::HostSession> session_;
};

End end_of(const job::Outcome& outcome) {
  const bool signalled = outcome.cause == job::Cause::interrupted && !outcome.signalled_at_host;
  return {outcome.exit_code, signalled ? outcome.signal : 0};
}

Result<End> show_or_run(const cli::Options& options, const plan::Allocation& allocation, SessionOnDemand& on_demand,
                        StandardStreams& streams, spdlog::logger& log) {
  const bool connected = on_demand.exists();
  auto job = TRY(plan_job(options, allocation, connected ? on_demand.get().waiter() : sys::wait_readable));
  if (options.show_env) return show_env(options, streams, log, job.plan);
  if (options.dry_run) {
    return streams.print(options.format == cli::Format::json ? plan::to_json(job.plan) : plan::to_table(job.plan));
  }
  session::HostSession& session = on_demand.get();
  if (connected) session::keep_planned(session, allocation, job.plan);
  job = TRY(with_job_table(options, allocation, session, std::move(job)));
  TRY(print_requested(options, allocation, job.plan, streams, log));
  if (options.request.mpi == plan::Mpi::pmix && session.options().pmix_program.empty()) {
    return fail({"--mpi pmix", "not supported: this build of dlaunch has no PMIx", "",
                 "install libpmix-dev, and build dlaunch again"});
  }
  session.ports() = std::move(job.held);
  if (options.report_pid != "-" && options.report_pid != "+") session.pid_file() = options.report_pid;
  on_demand.listener().of_plan(job.plan);
  const auto without = [&](const plan::Plan& plan, const std::vector<int>& lost) {
    return plan_without(options, allocation, plan, lost, session.waiter());
  };
  const job::Outcome outcome = TRY(dlaunch::run(std::move(job.plan), session, without));
  return end_of(outcome);
}

bool connects(const cli::Options& options) { return settle::starts_ranks(options) || options.verb == cli::Verb::check; }

Result<End> run_options(const cli::Options& asked, const place::Place& place, StandardStreams& streams,
                        spdlog::logger& log, const std::vector<std::string>& read_files,
                        transport::Transport* nodes = nullptr) {
  if (connects(asked)) TRY(launcher::check_least_limits());
  const auto read_text = [limit = cli::ReadLimit::of(asked.policy.timeout, asked.policy.timeout_exit_code)](
                             const std::string& path) { return cli::read_text(path, limit); };
  session::FactFinder finder(asked.request.environment, read_text);
  const settle::SettledJob job =
      TRY(finder.settle([&](const settle::Facts& facts) { return settle::settle_job(asked, place, facts); }));
  const cli::Options& options = job.options;
  SessionOnDemand session(options, streams, log, read_files, nodes);
  const bool starts = settle::starts_ranks(options);
  // Ignore the --stacks-on signal before the ranks run and after they end: its default action would kill dlaunch.
  if (starts && options.stacks_on != 0) std::signal(options.stacks_on, SIG_IGN);
  const bool early = starts && settle::only_here(job, place);
  if (early) session.get().start_here_early();
  const auto allocation =
      TRY(finder.settle([&](const settle::Facts& facts) { return settle::settle_hosts(job, place, facts); },
                        [&]() -> session::HostSession& { return session.get(); }));
  if (options.verb == cli::Verb::check) {
    report::log_notes(log, allocation.notes);
    return check_hosts(options, allocation, streams, log);
  }
  if (options.verb == cli::Verb::hosts) {
    return streams.print(options.format == cli::Format::json ? plan::to_json(allocation) : plan::to_table(allocation));
  }
  if (early && session.get().hosts().empty()) session.get().hosts().open(allocation.hosts);
  return show_or_run(options, allocation, session, streams, log);
}

Result<End> run_command(int argc, char** argv, StandardStreams& streams, spdlog::logger& log) {
  const cli::CommandLine line = TRY(cli::read_command_line(argv[0], {argv + 1, argv + argc}));
  std::vector<std::string> read;
  if (line.verb == cli::Verb::ranktable) {
    ConsoleListener listener(streams);
    return ascend::run_ranktable(line.words, read_process_context(read), listener, streams, log);
  }
  if (line.verb == cli::Verb::completion || line.verb == cli::Verb::complete)
    return run_completion(line.verb, line.words, streams);
  if (line.verb == cli::Verb::stacks) return run_stacks(line.words, streams, log);
  if (line.verb == cli::Verb::chaos) return run_chaos(line.words, read_process_context(read), streams, log);
  auto context = read_process_context(read);
  const std::string key = take_key_variable(context.environment);
  const auto command = TRY(cli::parse_command_line(line, context));
  if (const auto* text = std::get_if<cli::ShowText>(&command)) return streams.print(text->text, text->exit_code);
  const auto& options = std::get<cli::Options>(command);
  read.insert(read.end(), {options.same_line.key_file, options.hosts.ssh_identity, options.hosts.agent_path});
  report::set_verbosity(log, options.verbosity, options.quiet);
  const RunJob run_job = [&](const cli::Options& job, transport::Transport* nodes) {
    return run_options(job, context.place, streams, log, read, nodes);
  };
  if (options.same_line.asked && connects(options)) TRY(launcher::check_least_limits());
  auto done =
      options.same_line.asked ? run_same_line(options, context.place, key, log, run_job) : run_job(options, nullptr);
  if (!context.place.may_signal) return done;
  // A batch job ends with the exit code: salloc would report a death by SIGINT as exit code 0.
  return End(done ? done->exit_code : report::complain(log, done.error()));
}

/// Descriptors, memory or threads ran out. All connections are closed by now, and the agents end their ranks.
tl::unexpected<Error> refused_by_system(const char* why, int error) {
  const bool own_limit = error == EMFILE;
  return fail({"", "this machine lacks resources for the job", why,
               own_limit ? "set ulimit -Hn (open files) above " + std::to_string(sys::most_open_files()) + ", as root"
                         : "check the limits with ulimit -a, and whether other processes use the memory or the threads",
               kExitHostLost});
}

/// The end after an Error. A signal before the start of a job is an Error, too.
End end_after(const Error& error, spdlog::logger& log) {
  const int code = report::complain(log, error);
  return {code, std::max(code - kSignalBase, 0)};
}

/// Signals of a terminal and of `kill`. Others, such as SIGXCPU of a batch system, are reported by the exit code only.
bool ends_by(int signal) { return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP; }

}  // namespace

End run(int argc, char** argv) {
  open_standard_fds();
  sys::restore_ending_signals();
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);  // a write then fails: EPIPE, EFBIG
  StandardStreams streams({STDOUT_FILENO, STDERR_FILENO});
  streams.relay_files();
  const auto log = report::make_log(streams);
  Result<End> done = End(kBroken);
  try {
    done = run_command(argc, argv, streams, *log);
  } catch (const std::system_error& error) {
    done = refused_by_system(error.what(), error.code().value());
  } catch (const std::bad_alloc&) {
    done = refused_by_system(std::strerror(ENOMEM), ENOMEM);
  } catch (const std::exception& error) {
    log->error(message("internal error: ", error.what()));
  }
  End end = done ? *done : end_after(done.error(), *log);
  if (const auto written = streams.wait_written(); !written) {
    const int lost = report::complain(*log, written.error());
    if (end.exit_code == 0) end.exit_code = lost;
  }
  if (!ends_by(end.signal)) end.signal = 0;
  return end;
}

}  // namespace dlaunch::app
