#include "run_case.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <set>

#include "bound.h"
#include "plan/mpi.h"
#include "promises/promise.h"
#include "report/log.h"
#include "report/record.h"
#include "session/host_session.h"
#include "session/job_run.h"
#include "sys/io.h"
#include "world/world.h"

namespace sim {
namespace {

using namespace dlaunch;

plan::Host host_named(int number) {
  plan::Host host;
  host.name = "n" + std::to_string(number);
  return host;
}

/// A plan with `s.ranks` ranks on each of these hosts.
plan::Plan plan_on(const std::vector<plan::Host>& hosts, const Scenario& s) {
  plan::Plan plan;
  plan.job_id = "simulated";
  plan.restarts = s.restarts;
  for (const plan::Host& host : hosts) {
    plan.hosts.emplace_back();
    plan.hosts.back().host = host;
    for (int local = 0; local < s.ranks; ++local) {
      const int rank = static_cast<int>(plan.ranks.size());
      plan.hosts.back().ranks.push_back(rank);
      plan.ranks.push_back(
          {rank, 0, static_cast<int>(plan.hosts.size()) - 1, local, {}, {"SIM_RANK=" + std::to_string(rank)}});
    }
  }
  if (s.staged) {
    for (plan::Rank& rank : plan.ranks) rank.dir = "/usr";
  }
  const std::vector<std::string> env = {"PATH=/usr/bin:/bin", "SIM_FIRST=" + std::to_string(plan.ranks.size())};
  plan.apps.push_back({.argv = {"/bin/true"},
                       .env = env,
                       .env_elsewhere = env,
                       .wdir = "/",
                       .ranks = static_cast<int>(plan.ranks.size())});
  if (s.spawn > 0) plan::add_mpi(plan, plan::Mpi::pmi1);
  return plan;
}

plan::Plan plan_of(const Scenario& s) {
  std::vector<plan::Host> hosts;
  for (int number = 0; number < s.hosts; ++number) hosts.push_back(host_named(number));
  plan::Plan plan = plan_on(hosts, s);
  for (int i = 0; i < s.spares; ++i) {
    plan::Host spare = host_named(s.hosts + i);
    spare.replacement = true;
    plan.replacements.push_back(spare);
  }
  for (int i = 0; i < s.idle; ++i) plan.spare.push_back(host_named(s.hosts + i));
  return plan;
}

JobOptions options_of(const Scenario& s) {
  JobOptions options;
  options.console = true;
  options.lines = false;
  options.policy.grace = std::chrono::milliseconds(s.grace / kMs);
  options.policy.shrink = s.shrink;
  if (s.timeout > 0) options.policy.timeout = std::chrono::milliseconds(s.timeout / kMs);
  if (s.after_first > 0) options.policy.after_first = std::chrono::milliseconds(s.after_first / kMs);
  for (const Fault& fault : s.faults) {
    if (fault.kind == "mgr")
      options.policy.manager_kill_wait = std::chrono::milliseconds(manager_kill_wait(fault) / kMs);
  }
  if (s.staged) {
    options.stage = {"/usr/share/data"};
    options.staged = std::make_shared<const std::string>(300'000, 'x');
  }
  if (s.preempt) options.policy.checkpoint.signal = SIGUSR1;
  if (s.stdin_ && s.restarts == 0) options.stdin_target = {plan::StdinTarget::Kind::rank, 0};
  return options;
}

class RoundListener : public Listener {
 public:
  explicit RoundListener(World& world) : world_(world) {}
  void listen_to(const session::JobRun& job) { job_ = &job; }
  void progress(const job::Progress& progress) override {
    const plan::Plan& plan = job_->plan();
    world_.begin_round(progress.round, plan.worlds.size(1, static_cast<int>(plan.ranks.size())));
  }

 private:
  World& world_;
  const session::JobRun* job_ = nullptr;
};

/// Real time again at the end of the scope.
struct Installed {
  explicit Installed(World& world) { install(&world); }
  ~Installed() { install(nullptr); }
};

/// Descriptor 0 is a pipe from the user of the world until the end of the scope.
class UserInput {
 public:
  UserInput(bool wanted, World& world) {
    if (!wanted) return;
    before_.reset(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    sys::Pipe pipe = sys::make_pipe();
    ::dup2(pipe.read.get(), STDIN_FILENO);
    world.type_into(std::move(pipe.write));
  }
  ~UserInput() {
    if (before_) ::dup2(before_.get(), STDIN_FILENO);
  }
  UserInput(const UserInput&) = delete;
  UserInput& operator=(const UserInput&) = delete;

 private:
  sys::Fd before_;
};

class Case {
 public:
  Case(const Scenario& scenario, bool tracing)
      : scenario_(scenario),
        options_(options_of(scenario)),
        plan_(plan_of(scenario)),
        world_(scenario, bound(scenario, options_)),
        history_(world_),
        promises_(all_promises(world_, history_)) {
    if (tracing) world_.trace_to(&report_.trace);
    world_.observe(history_);
    for (auto& promise : promises_) world_.observe(*promise);
  }

  Report run() {
    const Installed installed(world_);
    world_.begin();
    run_job();
    const Facts facts{world_, plan_, history_, options_, ended_, outcome_ ? &*outcome_ : nullptr};
    world_.settle(0);
    for (auto& promise : promises_) promise->job_ended(facts);
    world_.settle(kFirstLook);
    if (std::ranges::any_of(world_.processes().all(), [](const auto& each) { return each.second.alive; })) {
      world_.settle(std::chrono::nanoseconds(kLastLook).count());
    }
    for (auto& promise : promises_) promise->settled(facts);
    for (auto& promise : promises_) broken_.insert(promise->broken().begin(), promise->broken().end());
    report_.broken.assign(broken_.begin(), broken_.end());
    report_.digest = world_.trace_digest();
    return std::move(report_);
  }

 private:
  static constexpr Ns kFirstLook = 60 * kSecond;
  static constexpr std::chrono::minutes kLastLook{12};

  void run_job() {
    sys::Pipe out = sys::make_pipe();
    sys::Pipe err = sys::make_pipe();
    sys::set_nonblocking(out.read.get());
    ::fcntl(out.write.get(), F_SETPIPE_SZ, 4096);
    world_.set_reader(out.read.get());
    const UserInput input(scenario_.stdin_, world_);
    output::StandardStreams streams({out.write.get(), err.write.get()});
    const auto log = report::make_log([this](spdlog::level::level_enum level, std::string_view lines) {
      if (level >= spdlog::level::warn) world_.printed(lines);
    });
    log->set_level(spdlog::level::debug);
    RoundListener listener(world_);
    try {
      session::HostSession session(plan_.job_id, options_, streams, *log, listener, &world_);
      session::JobRun job(plan_, session, plan_without());
      listener.listen_to(job);
      auto result = job.run();
      plan_ = job.plan();
      if (result) {
        outcome_ = *std::move(result);
        report_.summary = std::string(report::cause_name(outcome_->cause)) + ' ' + std::to_string(outcome_->exit_code);
      } else {
        report_.summary = "error " + result.error().what + ": " + result.error().why;
      }
    } catch (const Hang& hang) {
      broken_.insert("hang");
      report_.summary = hang.what();
    } catch (const std::exception& error) {
      broken_.insert(std::string("exception: ") + error.what());
    }
    report_.summary +=
        " after " + seconds_text(world_.now() / kMs * kMs) + " s, " + std::to_string(world_.round() + 1) + " round(s)";
    ended_ = world_.now();
    world_.job_ended();
    if (world_.reading()) world_.set_reading(true);  // the last bytes that the launcher wrote
    world_.set_reader(-1);
  }

  PlanWithout plan_without() const {
    if (!scenario_.shrink) return {};
    return [this](const plan::Plan& planned, const std::vector<int>& gone) -> Result<plan::Plan> {
      std::vector<plan::Host> left;
      for (int host = 0; host < static_cast<int>(planned.hosts.size()); ++host) {
        if (std::ranges::find(gone, host) == gone.end()) left.push_back(planned.host(host).host);
      }
      if (left.empty())
        return fail({.where = "--shrink", .what = "no host is left", .why = "all hosts are lost", .hint = ""});
      return plan_on(left, scenario_);
    };
  }

  const Scenario scenario_;
  const JobOptions options_;
  plan::Plan plan_;
  World world_;
  History history_;
  std::vector<std::unique_ptr<Promise>> promises_;
  Ns ended_ = 0;
  std::optional<job::Outcome> outcome_;
  std::set<std::string> broken_;
  Report report_;
};

}  // namespace

Report run_case(const Scenario& scenario, bool tracing) {
  Case one(scenario, tracing);
  return one.run();
}

}  // namespace sim
