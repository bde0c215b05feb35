#include "app/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <system_error>

#include "allocate/choose.h"
#include "app/check_hosts.h"
#include "app/host_session.h"
#include "app/job_id.h"
#include "app/job_table.h"
#include "app/planned_job.h"
#include "app/query_hosts.h"
#include "app/ranktable_command.h"
#include "app/run_job.h"
#include "app/say.h"
#include "app/staged_files.h"
#include "base/printable.h"
#include "cli/parse.h"
#include "cli/subcommands.h"
#include "plan/plan.h"
#include "report/write_file.h"
#include "sys/io.h"

namespace dlaunch::app {

using output::StandardStreams;

namespace {

constexpr int kBroken = 70;  // sysexits' EX_SOFTWARE: what cannot happen did

/// 0, 1 and 2 are open from here on, so that no file of ours can be taken for one of them.
void open_standard_fds() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

cli::ProcessContext look_around(const char* program_name) {
  cli::ProcessContext surroundings;
  surroundings.program_name = program_name;
  for (char** entry = environ; *entry; ++entry) surroundings.environment.emplace_back(*entry);
  char cwd[PATH_MAX];
  surroundings.cwd = ::getcwd(cwd, sizeof cwd) ? cwd : "";
  return surroundings;
}

int show_env(StandardStreams& streams, const plan::Plan& plan, int rank) {
  const auto& host = plan.host_of(plan.rank(rank)).host;
  if (plan.rank_table && (!host.local || plan.rank_table->path.empty())) {
    note(streams, "RANK_TABLE_FILE will be there too: the path of the table's copy on the host");
  }
  std::string text;
  for (const std::string& entry : plan::rank_environment(plan, plan.rank(rank))) text += entry + '\n';
  return print(streams, text, 0);
}

Result<std::string> read_text(const std::string& path) {
  auto text = cli::read_whole_file(path);
  if (!text) return fail(text.error().error);
  return *std::move(text);
}

/// What --display-map and its kin ask for; 0, or the exit code.
int tell_before(StandardStreams& streams, const cli::Options& options, const plan::Allocation& allocation,
                const plan::Plan& plan) {
  int failed = 0;
  if (options.show_allocation) failed = print(streams, plan::to_table(allocation), 0);
  if (options.show_map && failed == 0) failed = print(streams, plan::to_map(plan), 0);
  if (options.report_pid.empty() || failed != 0) return failed;
  const std::string pid = std::to_string(::getpid()) + '\n';
  if (options.report_pid == "-") return print(streams, pid, 0);
  if (options.report_pid == "+") return say(streams, pid), 0;
  const auto wrote = report::write_file_atomically(options.report_pid, pid);
  return wrote ? 0 : complain(streams, wrote.error());
}

int show_or_run(StandardStreams& streams, const cli::Options& options, const plan::Allocation& allocation,
                std::optional<HostSession>& session) {
  auto job = plan_job(options, allocation, session ? session->waiter() : sys::wait_readable);
  if (!job) return complain(streams, job.error());
  if (options.show_env) return show_env(streams, job->plan, *options.show_env);
  if (options.dry_run) {
    return print(streams, options.format == cli::Format::json ? plan::to_json(job->plan) : plan::to_table(job->plan),
                 0);
  }
  if (session) {
    keep_planned(*session, allocation, job->plan);
  } else {
    session.emplace(options, streams);
  }
  if (const auto ok = make_job_table(options, allocation, *session, *job); !ok) return complain(streams, ok.error());
  if (const int failed = tell_before(streams, options, allocation, job->plan)) return failed;
  return run_job(options, job->plan, *session, [&job] { job->held.release(); });
}

int show_hosts(StandardStreams& streams, const cli::Options& options, const plan::Allocation& allocation) {
  return print(streams, options.format == cli::Format::json ? plan::to_json(allocation) : plan::to_table(allocation),
               0);
}

bool starts_here_alone(const cli::Options& options, const plan::Allocation& allocation) {
  const bool starts = options.verb == cli::Verb::run && !options.dry_run && !options.show_env;
  return starts && allocation.hosts.size() == 1 && allocation.hosts.front().local;
}

int run_options(StandardStreams& streams, cli::Options options) {
  options.request.job_id = make_job_id();
  const auto remarks = follow_table_file(options);
  if (!remarks) return complain(streams, remarks.error());
  auto allocation = allocate::choose_allocation(options.hosts, options.request.environment, read_text);
  if (!allocation) return complain(streams, allocation.error());
  allocation->notes.insert(allocation->notes.begin(), options.notes.begin(), options.notes.end());
  allocation->remarks = *remarks;
  mark_table_devices(options, *allocation);
  if (options.verb == cli::Verb::check) {
    if (!options.quiet) tell_notes(streams, allocation->notes);
    return check_hosts(options, *allocation, streams);
  }
  auto staged = read_staged(options.stage);
  if (!staged) return complain(streams, staged.error());
  options.staged = *std::move(staged);
  std::optional<HostSession> session;  // none while no host is to be reached
  if (plan::needs_slots(options.verb == cli::Verb::hosts ? plan::Request{} : options.request, *allocation)) {
    session.emplace(options, streams);
    if (const auto failed = find_slots(*session, *allocation, options.hosts)) return *failed;
  } else if (starts_here_alone(options, *allocation)) {
    session.emplace(options, streams);
    session->hosts().open(allocation->hosts);  // its agent starts while the job is planned
  }
  if (options.verb == cli::Verb::hosts) return show_hosts(streams, options, *allocation);
  return show_or_run(streams, options, *allocation, session);
}

int run_command(StandardStreams& streams, int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const cli::Subcommand* const subcommand = cli::subcommand_of(args, argv[0]);
  if (subcommand && subcommand->name == "ranktable") {
    return run_ranktable({args.begin() + 1, args.end()}, look_around(argv[0]), streams);
  }
  auto command = cli::parse_command_line(args, look_around(argv[0]));
  if (!command) return complain(streams, command.error());
  if (const auto* text = std::get_if<cli::ShowText>(&*command)) return print(streams, text->text, text->exit_code);
  return run_options(streams, std::move(std::get<cli::Options>(*command)));
}

/// Descriptors, memory, threads: whatever was going on has been let go by now, and the agents end their ranks.
int refused_by_system(StandardStreams& streams, const char* why) {
  return complain(streams, {"", "this machine does not give what the job needs", why,
                            "look at its limits (ulimit -a) and at what else uses them", kExitHostLost});
}

}  // namespace

int run(int argc, char** argv) {
  open_standard_fds();
  std::signal(SIGPIPE, SIG_IGN);  // a write says EPIPE
  StandardStreams streams({STDOUT_FILENO, STDERR_FILENO});
  int exit_code = kBroken;
  try {
    exit_code = run_command(streams, argc, argv);
  } catch (const std::system_error& error) {
    exit_code = refused_by_system(streams, error.what());
  } catch (const std::bad_alloc&) {
    exit_code = refused_by_system(streams, std::strerror(ENOMEM));
  } catch (const std::exception& error) {
    say(streams, message("internal error: ", error.what()));
  }
  streams.wait_written();
  return exit_code;
}

}  // namespace dlaunch::app
