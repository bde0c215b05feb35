#include <fcntl.h>
#include <spdlog/logger.h>

#include <atomic>
#include <type_traits>

#include "base/try.h"
#include "dlaunch/run.h"
#include "report/log.h"
#include "session/error_files.h"
#include "session/fact_finder.h"
#include "session/file_names.h"
#include "session/host_session.h"
#include "session/job_run.h"
#include "session/rendezvous.h"
#include "session/staged_files.h"
#include "settle/hosts.h"
#include "sys/randomness.h"

namespace dlaunch {
namespace {

/// Signals and children belong to the process, so only one session at a time may use them.
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

/// Calls `use` with a session that follows the options. The session reports only to the listener.
template <class Use>
auto with_session(const std::string& job_id, JobOptions options, Listener& listener, const Use& use)
    -> std::invoke_result_t<Use, session::HostSession&> {
  const Turn turn;
  if (!turn.mine()) {
    return fail({"", "this process is already running a job", "signals and children belong to the whole process",
                 "run one job after the other, or run each job in its own process"});
  }
  if (!options.staged) options.staged = TRY(session::read_staged(options.stage));
  if (!options.console) options.output.console_ranks.emplace();
  const sys::Fd nowhere(options.console ? -1 : ::open("/dev/null", O_WRONLY | O_CLOEXEC));
  output::StandardStreams streams(options.console ? output::StandardStreams::Fds{}
                                                  : output::StandardStreams::Fds{nowhere.get(), nowhere.get()});
  const auto log = report::make_log(
      [&](spdlog::level::level_enum level, std::string_view lines) { listener.said(level_of(level), lines); });
  log->set_level(spdlog::level::debug);
  session::HostSession session(job_id, std::move(options), streams, *log, listener);
  return use(session);
}

}  // namespace

std::string make_job_id() { return sys::random_hex(8); }

Result<plan::Allocation> find_slots(const plan::Allocation& allocation, const hosts::HostRequest& asked,
                                    const JobOptions& options, Listener& listener) {
  auto found = with_session(make_job_id(), options, listener, [&](session::HostSession& session) {
    return session::FactFinder({}, {}).settle(
        [&](const settle::Facts& facts) { return settle::with_slots(allocation, asked, facts); },
        [&]() -> session::HostSession& { return session; });
  });
  if (found || !found.error().what.empty()) return found;
  return fail({"", "cannot get the slots of the hosts", "", "check the errors above, one per host", kExitHostLost});
}

Result<job::Outcome> run(const plan::Plan& plan, const JobOptions& options, Listener& listener) {
  return with_session(plan.job_id, options, listener, [&](session::HostSession& session) -> Result<job::Outcome> {
    session::PlannedJob job = TRY(session::with_rendezvous(plan, session.waiter()));
    session.ports() = std::move(job.held);
    TRY(session::check_error_files_serve(session.options().error_file, job.plan));
    auto complete = TRY(session::with_error_files(session.options().error_file, std::move(job.plan)));
    TRY(session::check_staged_names(session.options(), complete));
    TRY(session::check_file_names(session.options(), "", complete));
    return run(std::move(complete), session);
  });
}

Result<job::Outcome> run(plan::Plan plan, session::HostSession& session, PlanWithout plan_without) {
  return session::JobRun(std::move(plan), session, std::move(plan_without)).run();
}

}  // namespace dlaunch
