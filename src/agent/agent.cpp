#include "agent/agent.h"

#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "agent/command_runner.h"
#include "agent/host_inspector.h"
#include "agent/identity.h"
#include "agent/mpi_service.h"
#include "agent/ranks.h"
#include "agent/reaper.h"
#include "agent/workdir_setup.h"
#include "base/time.h"
#include "link/heartbeat.h"
#include "link/link.h"
#include "sys/clock.h"
#include "sys/descendants.h"

namespace dlaunch::agent {
namespace {

constexpr std::chrono::milliseconds kShortestBeat{10};
constexpr std::chrono::seconds kSetupWait{15};
constexpr std::ptrdiff_t kMostNamed = 500;  // processes that are left
constexpr int kLost = 1;                    // exit code when the launcher went away

}  // namespace

class Agent::Impl {
 public:
  Impl(asio::io_context& io, sys::Fd in, sys::Fd out, rlimit open_files, JobDirectory& files, JobCgroup& cgroup)
      : io_(io),
        link_(io, std::move(in), std::move(out), wire::Sender::launcher),
        signals_(io, SIGCHLD, SIGTERM, SIGINT),
        timer_(io),
        reaper_(io, cgroup),
        files_(files),
        cgroup_(cgroup),
        workdir_setup_(io, link_),
        mpi_(io, link_, files),
        ranks_(io, link_, mpi_, open_files, files, cgroup),
        inspector_(io, link_, open_files),
        command_runner_(io, link_, open_files) {
    signals_.add(SIGHUP);
  }

  int run() {
    link_.start({[this](wire::Message&& message, std::deque<sys::Fd>&) {
                   if (heartbeat_) heartbeat_->heard(Clock::now());
                   if (!std::holds_alternative<wire::Spawn>(message)) ranks_.start_prepared();
                   std::visit([this](auto& m) { on(m); }, message);
                 },
                 [this](const std::string& why) { launcher_lost(why); }, [this] { ranks_.resume(); }});
    wait_signal();
    timer_.expires_after(kSetupWait);
    timer_.async_wait([this](asio::error_code error) {
      if (!error) launcher_lost("it sent no heartbeat");
    });
    io_.run();
    return exit_code_;
  }

 private:
  // ---- what the launcher says ----
  void on(wire::Setup& setup) {
    if (heartbeat_) return launcher_lost("it sent a message out of order");
    setup_ = std::move(setup);
    files_.belong_to(setup_.job_id);
    utsname names{};
    ::uname(&names);
    link_.send(wire::Hello{wire::kVersion, names.nodename, names.machine, static_cast<std::uint32_t>(::getpid()),
                           sys::wall_ns(), host_identity()});
    if (setup_.version != wire::kVersion) return launcher_lost("it has another protocol version");
    heartbeat_.emplace(std::max(kShortestBeat, std::chrono::milliseconds(setup_.heartbeat_ms)), Clock::now());
    beat();
    link_.flush();
    if (setup_.hand_over) cgroup_.make(setup_.job_id);  // while the launcher, on another CPU, answers
  }

  void on(wire::Signal& signal) {
    reap();  // a rank that has ended already was not ended by this signal
    mpi_.settle();
    ranks_.signal(static_cast<int>(signal.signal));
    if (signal.signal != SIGKILL) return;
    setup_.grace_ms = 0;  // the grace is over, also for what the ranks left behind
    reaper_.hurry();
  }

  void on(wire::Pause&) {
    if (heartbeat_) heartbeat_->pause();
  }

  void on(wire::Finish&) {
    workdir_setup_.stop();
    inspector_.stop();
    command_runner_.stop();
    mpi_.stop();
    reaper_.start(std::chrono::milliseconds(setup_.grace_ms),
                  [this](std::vector<std::string> left) { leave(std::move(left)); });
  }

  /// This agent started no process of the job, so none of its children is meant.
  void on(wire::Sweep&) {
    cgroup_.adopt_left(setup_.job_id);
    reaper_.aim_at("DLAUNCH_JOB_ID=" + setup_.job_id);
    reaper_.start(std::chrono::milliseconds(setup_.grace_ms), [this](std::vector<std::string> left) {
      for (std::string& path : files_.remove_left()) left.push_back(std::move(path));
      leave(std::move(left));
    });
  }

  void on(wire::QueryHost& query) { inspector_.look(std::move(query)); }
  void on(wire::RunCommands& request) { command_runner_.ask(std::move(request)); }
  void on(wire::Layout& layout) {
    cgroup_.make(setup_.job_id);
    ranks_.configure(layout, setup_.hand_over);
  }
  void on(wire::Prepare& asked) { workdir_setup_.prepare(std::move(asked)); }
  void on(wire::Stage& stage) {
    if (!workdir_setup_.stage(stage)) launcher_lost("it sends more files than it was granted");
  }
  void on(wire::JobFile& file) { ranks_.keep(file); }
  void on(wire::Program& program) { ranks_.describe(std::move(program)); }
  void on(wire::Spawn& spawn) { ranks_.start(spawn); }
  void on(wire::Stdin& input) {
    if (!ranks_.input(input)) launcher_lost("it sends more stdin than it was granted");
  }
  void on(wire::Credit& credit) { ranks_.granted(credit); }
  void on(wire::WindowSize& size) { ranks_.resize(size); }

  template <class Message>
    requires requires(MpiService& mpi, Message& message) { mpi.on(message); }
  void on(Message& message) {
    mpi_.on(message);
  }

  /// Messages that only an agent sends, and Ping, which has been counted already.
  template <class Other>
  void on(Other&) {}

  // ---- what happens by itself ----
  void wait_signal() {
    signals_.async_wait([this](asio::error_code error, int signal) {
      if (error) return;
      if (signal == SIGCHLD) {
        reap();
      } else {
        launcher_lost("the agent was told to end");
      }
      wait_signal();
    });
  }

  void reap() {
    for (int reaped = 0; reaped < sys::kMostReaped; ++reaped) {
      int wait_status = 0;
      const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
      if (pid <= 0) return reaper_.children_changed(pid < 0 && errno == ECHILD);
      if (workdir_setup_.reaped(pid, wait_status) || command_runner_.reaped(pid, wait_status)) continue;
      if (!mpi_.reaped(pid, wait_status)) ranks_.reaped(pid, wait_status);
    }
    asio::post(io_, [this] { reap(); });
  }

  void beat() {
    timer_.expires_after(heartbeat_->interval());
    timer_.async_wait([this](asio::error_code error) {
      if (error) return;
      if (heartbeat_->dead(Clock::now())) return launcher_lost("silence");
      if (!said_clean_) link_.send(wire::Ping{});
      reap();  // a SIGCHLD that asio could not carry through its pipe
      beat();
    });
  }

  /// Clean is the last frame and is sent after everything that is queued: a slow launcher gets all of it.
  void leave(std::vector<std::string> left) {
    if (left.size() > kMostNamed) {
      left.back() = std::to_string(left.size() - kMostNamed) + " more processes";
      left.erase(left.begin() + kMostNamed, left.end() - 1);
    }
    ranks_.clear();
    for (std::string& path : files_.remove()) left.push_back(std::move(path));
    for (std::string& path : cgroup_.remove()) left.push_back(std::move(path));
    said_clean_ = true;
    link_.send(wire::Clean{std::move(left)});
    link_.when_sent([this] { io_.stop(); });
  }

  /// Whatever becomes of the launcher, nothing of the job stays behind.
  void launcher_lost(const std::string& why) {
    link_.send(wire::Log{wire::Log::kError, "the agent ends its ranks: " + why});
    link_.flush();
    link_.close();
    timer_.cancel();
    ranks_.discard();
    workdir_setup_.stop();
    inspector_.stop();
    command_runner_.stop();
    mpi_.stop();
    exit_code_ = kLost;
    reaper_.start(std::chrono::milliseconds(setup_.grace_ms), [this](const std::vector<std::string>&) {
      files_.remove();
      cgroup_.remove();
      io_.stop();
    });
  }

  asio::io_context& io_;
  link::Link link_;
  asio::signal_set signals_;
  asio::steady_timer timer_;
  Reaper reaper_;
  JobDirectory& files_;
  JobCgroup& cgroup_;
  WorkdirSetup workdir_setup_;
  MpiService mpi_;
  Ranks ranks_;
  HostInspector inspector_;
  CommandRunner command_runner_;
  wire::Setup setup_;
  std::optional<link::Heartbeat> heartbeat_;
  bool said_clean_ = false;
  int exit_code_ = 0;
};

Agent::Agent(asio::io_context& io, sys::Fd in, sys::Fd out, rlimit open_files, JobDirectory& files, JobCgroup& cgroup)
    : impl_(std::make_unique<Impl>(io, std::move(in), std::move(out), open_files, files, cgroup)) {}
Agent::~Agent() = default;
int Agent::run() { return impl_->run(); }

}  // namespace dlaunch::agent
