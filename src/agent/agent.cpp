#include "agent/agent.h"

#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <map>
#include <optional>
#include <utility>

#include "agent/guardian.h"
#include "agent/host_inspector.h"
#include "agent/mpi_service.h"
#include "agent/ranks.h"
#include "agent/reaper.h"
#include "agent/shared_memory.h"
#include "agent/stack_sampler.h"
#include "agent/workdir_setup.h"
#include "base/time.h"
#include "link/heartbeat.h"
#include "link/lease.h"
#include "link/link.h"
#include "link/signals.h"
#include "link/timer.h"
#include "sys/clock.h"
#include "sys/descendants.h"

namespace dlaunch::agent {
namespace {

constexpr std::chrono::milliseconds kShortestBeat{10};
constexpr std::chrono::seconds kSetupWait{15};
constexpr std::chrono::seconds kNoticeWait{2};  // for an answer to TerminationNotice
constexpr std::chrono::milliseconds kDirectWait{200};
constexpr std::chrono::seconds kSameNotice{1};  // the guardian and the parent forward signals that also come directly
constexpr char kNoAnswer[] = "the launcher did not answer in time";

}  // namespace

class Agent::Impl {
 public:
  Impl(asio::io_context& io, sys::Fd in, sys::Fd out, rlimit open_files, JobDirectory& files, JobCgroup& cgroup,
       AgentTag& tag)
      : io_(io),
        link_(io, std::move(in), std::move(out), wire::Sender::launcher),
        signals_(io),
        timer_(io),
        lease_timer_(io),
        notice_timer_(io),
        open_files_(open_files),
        files_(files),
        cgroup_(cgroup),
        tag_(tag),
        inspector_(io, link_, open_files),
        command_runner_(io, link_, open_files),
        stack_sampler_(io, link_),
        round_(std::make_unique<Round>(*this)) {
    signals_.add(SIGCHLD);
    for (const int signal : kForwarded) {
      signals_.add(signal);
      signals_.add(forwarded(signal));
    }
  }

  int run(pid_t guardian) {
    guardian_ = guardian;
    link_.start({[this](wire::Message&& message, std::deque<sys::Fd>&) {
                   if (lease_) lease_->heard(Clock::now());
                   if (!std::holds_alternative<wire::Spawn>(message)) round_->ranks.start_prepared();
                   std::visit([this](auto& m) { on(m); }, message);
                   // The end of an announced pause, and Layout, end the lease earlier.
                   if (lease_ && lease_->end() < lease_timer_.expiry()) watch_lease();
                 },
                 [this](const std::string& why) { launcher_lost(why); }, [this] { round_->ranks.resume(); }});
    wait_signal();
    timer_.expires_after(kSetupWait);
    timer_.async_wait([this](asio::error_code error) {
      if (link::is_due(error, timer_)) launcher_lost("the launcher sent no heartbeat", wire::Log::kNoSetup);
    });
    io_.run();
    return exit_code_;
  }

 private:
  struct Round {
    explicit Round(Impl& agent)
        : reaper(agent.io_, agent.cgroup_, [this](int pid) { memory.reaped(pid); }),
          workdir_setup(agent.io_, agent.link_, agent.rank_dirs_),
          mpi(agent.io_, agent.link_, agent.files_),
          ranks(agent.io_, agent.link_, mpi, agent.open_files_, agent.files_, agent.cgroup_, agent.rank_dirs_,
                [&agent] { return agent.may_start(); }) {}

    SharedMemory memory;
    Reaper reaper;
    WorkdirSetup workdir_setup;
    MpiService mpi;
    Ranks ranks;
    bool killed = false;  // the grace period is over, also for processes that the ranks left
  };

  std::chrono::milliseconds grace() const { return std::chrono::milliseconds(round_->killed ? 0 : setup_.grace_ms); }

  /// The grace period counts from the end of the lease: after that and KILL, the ranks may run on another host. The
  /// host may have been frozen until now.
  std::chrono::milliseconds grace_without_launcher() const {
    if (!lease_) return grace();
    const auto left = lease_->end() + grace() - Clock::now();
    return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(0), grace());
  }

  // ---- messages of the launcher ----
  void on(wire::Setup& setup) {
    if (lease_) return launcher_lost("protocol error: unexpected message from the launcher");
    setup_ = std::move(setup);
    files_.belong_to(setup_.job_id);
    std::string host = host_identity();
    tag_.write(setup_.job_id, host);
    utsname names{};
    ::uname(&names);
    link_.send(wire::Hello{wire::kVersion, names.nodename, names.machine, static_cast<std::uint32_t>(::getpid()),
                           sys::wall_ns(), std::move(host)});
    if (setup_.version != wire::kVersion) return launcher_lost("the launcher has another protocol version");
    heartbeat_ = std::max(kShortestBeat, std::chrono::milliseconds(setup_.heartbeat_ms));
    lease_.emplace(heartbeat_, std::chrono::milliseconds(setup_.pause_limit_ms), Clock::now());
    beat();
    watch_lease();
    link_.flush();
    if (setup_.hand_over) cgroup_.make(setup_.job_id);  // in parallel to the launcher's answer on another CPU
  }

  void on(wire::Signal& signal) {
    reap();  // this signal did not end a rank that had ended before
    round_->mpi.settle();
    if (signal.if_caught) return round_->ranks.signal_where_caught(signal);
    round_->memory.record_mapped();
    round_->ranks.signal(static_cast<int>(signal.signal));
    if (signal.signal != SIGKILL) return;
    round_->killed = true;
    round_->reaper.hurry();
  }

  void on(wire::Pause&) {
    if (lease_) lease_->pause(Clock::now());
  }

  void on(wire::Ping& ping) {
    if (!lease_) return;
    const bool asks = lease_->asks(ping);
    lease_->answered(ping);
    if (asks && !clean_sent_) link_.send(lease_->next_ping(Clock::now()));
  }

  void on(wire::Finish& finish) {
    round_->workdir_setup.stop();
    inspector_.stop();
    command_runner_.stop();
    stack_sampler_.stop();
    round_->mpi.stop();
    round_->reaper.start(grace(), [this, stay = finish.stay](std::vector<std::string> left) {
      for (std::string& process : left) process = round_->workdir_setup.explained(std::move(process));
      stay ? end_round(std::move(left)) : leave(std::move(left));
    });
  }

  /// This agent has started no process of the job, so its own children stay. A living agent locks the control group of
  /// its ranks. Older agents must therefore end before this agent adopts the group.
  void on(wire::Sweep&) {
    round_->reaper.aim_at({marks_of_ranks(setup_.job_id), [this] { return tag_.older_agents(); },
                           [this] { cgroup_.adopt_left(setup_.job_id); }});
    round_->reaper.start(grace(), [this](std::vector<std::string> left) {
      for (std::string& path : files_.remove_left()) left.push_back(std::move(path));
      leave(std::move(left));
    });
  }

  void on(wire::ReadClock&) {
    if (!clean_sent_) link_.send(wire::ClockReading{sys::wall_ns()});
  }
  void on(wire::QueryHost& query) { inspector_.inspect(std::move(query)); }
  void on(wire::RunCommands& request) { command_runner_.ask(std::move(request)); }
  void on(wire::SampleStacks& question) { stack_sampler_.ask(std::move(question), round_->ranks.running()); }
  void on(wire::Layout& layout) {
    cgroup_.make(setup_.job_id);
    if (layout.restart_possible) round_->memory.watch();
    if (lease_) lease_->set_length(std::chrono::milliseconds(layout.lease_ms));
    round_->ranks.configure(layout, setup_.hand_over);
  }
  void on(wire::Prepare& asked) { round_->workdir_setup.prepare(std::move(asked)); }
  void on(wire::Stage& stage) {
    if (!round_->workdir_setup.stage(stage))
      launcher_lost("protocol error: the launcher sent more --stage data than the agent granted");
  }
  void on(wire::JobFile& file) { round_->ranks.keep(file); }
  void on(wire::Program& program) { round_->ranks.describe(std::move(program)); }
  void on(wire::Spawn& spawn) { round_->ranks.start(spawn); }
  void on(wire::Stdin& input) {
    if (!round_->ranks.input(input))
      launcher_lost("protocol error: the launcher sent more stdin than the agent granted");
  }
  void on(wire::Credit& credit) { round_->ranks.granted(credit); }
  void on(wire::WindowSize& size) { round_->ranks.resize(size); }

  /// Messages for MPI. Ignores messages of agents.
  template <class Other>
  void on(Other& other) {
    if constexpr (requires { round_->mpi.on(other); }) round_->mpi.on(other);
  }

  // ---- timers and signals ----
  void wait_signal() {
    signals_.next([this](int signal) {
      if (signal == SIGCHLD) {
        reap();
      } else {
        signal < SIGRTMIN ? report_signal(signal, true) : take_forwarded(signal - forwarded(0));
      }
      wait_signal();
    });
  }

  /// A batch system that signals all processes also signals this process in a moment.
  void take_forwarded(int signal) {
    if (signal != SIGUSR1 && signal != SIGUSR2) return report_signal(signal, false);
    const auto [held, is_new] = held_warnings_.try_emplace(signal, io_);
    if (!is_new) return;
    held->second.expires_after(kDirectWait);
    held->second.async_wait([this, signal](asio::error_code) {
      held_warnings_.erase(signal);
      report_signal(signal, false);
    });
  }

  /// Reports the signal to the launcher, which answers at once. Without guardian or launcher, the agent ends its ranks.
  /// `direct`: not forwarded by the guardian.
  void report_signal(int signal, bool direct) {
    const bool at_once = signal != SIGUSR1 && signal != SIGUSR2;
    if (at_once && ::getppid() != guardian_) return launcher_lost("its guardian was killed" + round_->ranks.oom());
    if (at_once && !lease_) return launcher_lost("the agent received a termination signal");
    auto& [before, known_direct] = reported_signals_[signal];
    const bool same = Clock::now() - before < kSameNotice && (known_direct || !direct);
    if (!lease_ || clean_sent_ || same) return;
    before = Clock::now();
    known_direct = direct;
    link_.send(wire::TerminationNotice{static_cast<std::uint32_t>(signal), sys::wall_ns(), direct});
    link_.flush();
    if (!at_once) return;
    notice_timer_.expires_after(kNoticeWait);
    notice_timer_.async_wait([this, asked = Clock::now()](asio::error_code error) {
      if (!error && lease_->silent_since(asked))
        launcher_lost("the agent received a termination signal, and the launcher does not answer");
    });
  }

  void reap() {
    for (int reaped = 0; reaped < sys::kMostReaped; ++reaped) {
      int wait_status = 0;
      const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
      if (pid <= 0) return round_->reaper.children_changed(pid < 0 && errno == ECHILD);
      if (WIFSTOPPED(wait_status)) continue;  // a rank that StackSampler's thread has stopped for a sample
      if (round_->workdir_setup.reaped(pid, wait_status) || command_runner_.reaped(pid, wait_status)) continue;
      round_->memory.reaped(pid);
      if (!round_->mpi.reaped(pid, wait_status)) round_->ranks.reaped(pid, wait_status);
    }
    asio::post(io_, [this] { reap(); });
  }

  void beat() {
    timer_.expires_after(heartbeat_);
    timer_.async_wait([this](asio::error_code error) {
      if (!link::is_due(error, timer_)) return;
      const auto now = Clock::now();
      // After Clean only the launcher's end of the link is awaited.
      const bool silent = lease_->silent_since(now - link::Heartbeat::kMisses * heartbeat_) || lease_->over(now);
      if (clean_sent_ && silent) return io_.stop();
      if (!clean_sent_) link_.send(lease_->next_ping(now));
      reap();  // in case asio's signal pipe lost a SIGCHLD
      round_->memory.find_creators();
      beat();
    });
  }

  void watch_lease() {
    lease_timer_.expires_at(lease_->end());
    lease_timer_.async_wait([this](asio::error_code error) {
      if (!error) judge_launcher();
    });
  }

  /// Reads all bytes that wait before the launcher is lost: an answer may be among them if this process was stopped.
  void judge_launcher() {
    if (lost_ || clean_sent_) return;  // after Clean, beat() awaits the end of the link
    if (!lease_->over(Clock::now())) return watch_lease();
    if (!link_.readable()) return launcher_lost(kNoAnswer);
    asio::post(io_, [this] { judge_launcher(); });
  }

  /// Whether ranks may start now. If the lease or the link has ended, a rank that starts now could run at the same time
  /// as its replacement on another host.
  bool may_start() {
    if (link_.peer_ended()) return false;
    if (!lease_ || !lease_->over(Clock::now())) return true;
    asio::post(io_, [this] { launcher_lost(kNoAnswer); });
    return false;
  }

  /// Removes the round's files and groups. Returns all remains of the round, for Clean.
  std::vector<std::string> remove_files(std::vector<std::string> left) {
    round_->ranks.clear();
    for (std::string& path : files_.remove()) left.push_back(std::move(path));
    for (std::string& path : cgroup_.remove()) left.push_back(std::move(path));
    return left;
  }

  /// Destroys the old round at the end of this turn: its reaper is the caller.
  void end_round(std::vector<std::string> left) {
    if (const auto text = text_of(round_->memory.remove()); !text.empty()) link_.send(wire::Log{.text = text});
    link_.send(wire::Clean{remove_files(std::move(left))});
    asio::post(io_, [old = std::exchange(round_, std::make_unique<Round>(*this))] {});
  }

  /// Clean is the last frame, sent after all queued frames. The agent exits after the launcher has read Clean and
  /// closed the link: qrsh may lose bytes that the agent writes just before its end.
  void leave(std::vector<std::string> left) {
    clean_sent_ = true;
    link_.send(wire::Clean{remove_files(std::move(left))});
    if (setup_.hand_over) link_.when_sent([this] { io_.stop(); });
  }

  /// Ends all processes of the job and removes its files without the launcher.
  void launcher_lost(const std::string& why, std::uint8_t level = wire::Log::kError) {
    if (clean_sent_) return io_.stop();
    if (std::exchange(lost_, true)) return;
    link_.send(wire::Log{level, "the agent ends its ranks: " + why});
    link_.flush();
    link_.close();
    timer_.cancel();
    lease_timer_.cancel();
    notice_timer_.cancel();
    round_->ranks.discard();
    round_->workdir_setup.stop();
    inspector_.stop();
    command_runner_.stop();
    stack_sampler_.stop();
    round_->mpi.stop();
    exit_code_ = EXIT_FAILURE;
    round_->reaper.start(grace_without_launcher(), [this](const std::vector<std::string>&) {
      files_.remove();
      cgroup_.remove();
      io_.stop();
    });
  }

  pid_t guardian_ = 0;
  asio::io_context& io_;
  link::Link link_;
  link::Signals signals_;
  asio::steady_timer timer_;
  asio::steady_timer lease_timer_;
  asio::steady_timer notice_timer_;
  const rlimit open_files_;
  JobDirectory& files_;
  JobCgroup& cgroup_;
  AgentTag& tag_;
  HostInspector inspector_;
  CommandRunner command_runner_;
  StackSampler stack_sampler_;
  RankDirs rank_dirs_;
  std::unique_ptr<Round> round_;
  wire::Setup setup_;
  std::chrono::milliseconds heartbeat_{0};
  std::optional<link::Lease> lease_;                       // since Setup
  std::map<int, asio::steady_timer> held_warnings_;        // forwarded USR1 and USR2
  std::map<int, std::pair<Time, bool>> reported_signals_;  // the last report of each signal, and whether it was direct
  bool clean_sent_ = false;
  bool lost_ = false;  // the launcher; the agent ends its ranks
  int exit_code_ = 0;
};

Agent::Agent(asio::io_context& io, sys::Fd in, sys::Fd out, rlimit open_files, JobDirectory& files, JobCgroup& cgroup,
             AgentTag& tag)
    : impl_(std::make_unique<Impl>(io, std::move(in), std::move(out), open_files, files, cgroup, tag)) {}
Agent::~Agent() = default;
int Agent::run(pid_t guardian) { return impl_->run(guardian); }

}  // namespace dlaunch::agent
