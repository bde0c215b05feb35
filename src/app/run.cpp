#include "app/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <system_error>

#include "allocate/choose.h"
#include "app/batch_system.h"
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
#include "session/host_session.h"
#include "session/staged_files.h"
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

cli::ProcessContext read_process_context() {
  cli::ProcessContext context;
  context.environment = own_environment();
  context.place = place::read_place(context.environment, cli::read_text);
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

/// Creates the session at the first need of a host.
using Begin = std::function<void()>;

Result<int> show_or_run(const cli::Options& options, const plan::Allocation& allocation,
                        std::optional<session::HostSession>& session, const Begin& begin, ConsoleListener& listener,
                        StandardStreams& streams, spdlog::logger& log) {
  auto job = TRY(plan_job(options, allocation, session ? session->waiter() : sys::wait_readable));
  if (options.show_env) return show_env(options, streams, log, job.plan);
  if (options.dry_run) {
    return streams.print(options.format == cli::Format::json ? plan::to_json(job.plan) : plan::to_table(job.plan));
  }
  if (session) {
    session::keep_planned(*session, allocation, job.plan);
  } else {
    begin();
  }
  TRY(make_job_table(options, allocation, *session, job));
  TRY(print_requested(options, allocation, job.plan, streams, log));
  if (options.request.mpi == plan::Mpi::pmix && session->options().pmix_program.empty()) {
    return fail({"--mpi pmix", "not supported: this build of dlaunch has no PMIx", "",
                 "install libpmix-dev, and build dlaunch again"});
  }
  session->ports() = std::move(job.held);
  if (options.report_pid != "-" && options.report_pid != "+") session->pid_file() = options.report_pid;
  listener.of_plan(job.plan);
  const auto without = [&](const plan::Plan& plan, const std::vector<int>& lost) {
    return plan_without(options, allocation, plan, lost, session->waiter());
  };
  return TRY(dlaunch::run(job.plan, *session, without)).exit_code;
}

bool starts_ranks(const cli::Options& options) {
  return options.verb == cli::Verb::run && !options.dry_run && !options.show_env;
}

bool connects(const cli::Options& options) { return starts_ranks(options) || options.verb == cli::Verb::check; }

/// `nodes` is the transport to nodes with the same command line; null: the options choose the transport.
Result<int> run_options(cli::Options options, const place::Place& place, StandardStreams& streams, spdlog::logger& log,
                        transport::Transport* nodes = nullptr) {
  if (connects(options)) TRY(launcher::check_least_limits());
  if (options.request.job_id.empty()) options.request.job_id = make_job_id();
  options.keys =
      options.output.pty && options.stdin_target.kind != plan::StdinTarget::Kind::none && ::isatty(STDIN_FILENO) == 1;
  auto remarks = TRY(ascend::follow_table_file(options));
  std::ranges::copy(options.remarks, std::back_inserter(remarks));
  if (options.verb != cli::Verb::check) options.staged = TRY(session::read_staged(options.stage));
  TRY(choose_transport(options, place));
  resolve_preemption_deadline(options, place);
  resolve_manager_settings(options, place);
  resolve_attempt(options, place);
  ConsoleListener listener(streams);
  std::optional<session::HostSession> session;  // created at the first need of a host
  const Begin begin = [&] {
    session.emplace(options.request.job_id, options.of_job(), streams, log, listener, nodes);
    session->own_process();
  };
  // Ignore the --stacks-on signal before the ranks run and after they end: its default action would kill dlaunch.
  if (starts_ranks(options) && options.stacks_on != 0) std::signal(options.stacks_on, SIG_IGN);
  if (starts_ranks(options) && hosts::names_no_host(options.hosts, place)) {
    begin();
    session->start_here_early();
  }
  auto allocation = TRY(hosts::choose_allocation(options.hosts, place, options.request.environment));
  allocation.notes.insert(allocation.notes.begin(), options.notes.begin(), options.notes.end());
  allocation.remarks = remarks;
  add_manager(options, place, allocation);
  if (options.same_line.asked && !nodes) assume_nodes_as_here(allocation);
  ascend::mark_table_devices(options, allocation);
  if (options.verb == cli::Verb::check) {
    add_transport_remark(options, place, allocation);
    report::log_notes(log, allocation.notes);
    return check_hosts(options, allocation, streams, log);
  }
  if (plan::needs_slots(options.verb == cli::Verb::hosts ? plan::Request{} : options.request, allocation)) {
    if (!session) begin();
    if (const auto failed = session::find_slots(*session, allocation, options.hosts)) return *failed;
  } else if (session) {
    session->hosts().open(allocation.hosts);
  }
  if (needs_devices(options, place, allocation)) {
    if (!session) begin();
    if (const auto failed = find_devices(*session, allocation, options, place)) return *failed;
  }
  add_transport_remark(options, place, allocation);
  if (options.verb != cli::Verb::hosts) return show_or_run(options, allocation, session, begin, listener, streams, log);
  return streams.print(options.format == cli::Format::json ? plan::to_json(allocation) : plan::to_table(allocation));
}

Result<int> run_command(int argc, char** argv, StandardStreams& streams, spdlog::logger& log) {
  const cli::CommandLine line = TRY(cli::read_command_line(argv[0], {argv + 1, argv + argc}));
  if (line.verb == cli::Verb::ranktable) {
    ConsoleListener listener(streams);
    return ascend::run_ranktable(line.words, read_process_context(), listener, streams, log);
  }
  if (line.verb == cli::Verb::stacks) return run_stacks(line.words, streams, log);
  if (line.verb == cli::Verb::chaos) return run_chaos(line.words, read_process_context(), streams, log);
  auto context = read_process_context();
  const std::string key = take_key_variable(context.environment);
  auto command = TRY(cli::parse_command_line(line, context));
  if (const auto* text = std::get_if<cli::ShowText>(&command)) return streams.print(text->text, text->exit_code);
  auto& options = std::get<cli::Options>(command);
  report::set_verbosity(log, options.verbosity, options.quiet);
  if (!options.same_line.asked) return run_options(std::move(options), context.place, streams, log);
  if (connects(options)) TRY(launcher::check_least_limits());
  return run_same_line(std::move(options), context.place, key, log, [&](cli::Options job, transport::Transport* nodes) {
    return run_options(std::move(job), context.place, streams, log, nodes);
  });
}

/// Descriptors, memory or threads ran out. All connections are closed by now, and the agents end their ranks.
tl::unexpected<Error> refused_by_system(const char* why, int error) {
  const bool own_limit = error == EMFILE;
  return fail({"", "this machine lacks resources for the job", why,
               own_limit ? "set a higher limit than ulimit -Hn " + std::to_string(sys::most_open_files()) + " (as root)"
                         : "check the limits (ulimit -a) and other users of the machine",
               kExitHostLost});
}

}  // namespace

int run(int argc, char** argv) {
  open_standard_fds();
  sys::restore_ending_signals();
  std::signal(SIGPIPE, SIG_IGN);  // a write then fails with EPIPE
  StandardStreams streams({STDOUT_FILENO, STDERR_FILENO});
  streams.relay_files();
  const auto log = report::make_log(streams);
  Result<int> done = kBroken;
  try {
    done = run_command(argc, argv, streams, *log);
  } catch (const std::system_error& error) {
    done = refused_by_system(error.what(), error.code().value());
  } catch (const std::bad_alloc&) {
    done = refused_by_system(std::strerror(ENOMEM), ENOMEM);
  } catch (const std::exception& error) {
    log->error(message("internal error: ", error.what()));
  }
  int exit_code = done ? *done : report::complain(*log, done.error());
  if (const auto written = streams.wait_written(); !written) {
    const int lost = report::complain(*log, written.error());
    if (exit_code == 0) exit_code = lost;
  }
  return exit_code;
}

}  // namespace dlaunch::app
