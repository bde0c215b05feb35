#include "launcher_fixture.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "agent_process.h"
#include "launcher/frames.h"
#include "session/components.h"
#include "sys/descendants.h"
#include "sys/inherited.h"
#include "sys/io.h"
#include "sys/process_state.h"

namespace dlaunch::launcher {
namespace {

constexpr std::chrono::seconds kPatience{20};

}  // namespace

void ScriptedAgent::send(const wire::Message& message) {
  std::string bytes;
  wire::encode(message, bytes);
  send_bytes(bytes);
}

void ScriptedAgent::send_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::send(link_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size <= 0) throw Gone{};
    bytes.remove_prefix(static_cast<size_t>(size));
  }
}

wire::Message ScriptedAgent::next(int wait_ms) {
  for (;;) {
    auto message = decoder_.next();
    if (!message) throw Gone{};
    if (*message) return std::move(**message);
    pollfd ready{link_.get(), POLLIN, 0};
    if (::poll(&ready, 1, wait_ms) == 0) return wire::Ping{};
    char buffer[1u << 16];
    const ssize_t size = ::read(link_.get(), buffer, sizeof buffer);
    if (size <= 0) throw Gone{};
    decoder_.feed({buffer, static_cast<size_t>(size)});
  }
}

void ScriptedAgent::hello(std::uint32_t version) {
  expect<wire::Setup>();
  send(wire::Hello{version, "scripted", "x86_64", 1, 5, {}});
}

void ScriptedAgent::ended(std::uint32_t rank, std::uint32_t wait_status, std::int64_t time_ns) {
  send(wire::Ended{rank, wait_status, false, time_ns});
  send(wire::OutputData{rank, 1, time_ns, {}});
  send(wire::OutputData{rank, 2, time_ns, {}});
}

void ScriptedAgent::finish() {
  expect<wire::Finish>();
  send(wire::Clean{});
}

void ScriptedAgent::until_gone() {
  for (;;) next();
}

FakeHosts::~FakeHosts() {
  for (std::thread& script : scripts_) script.join();
}

FakeHosts::FakeHosts() {
  script_again([](ScriptedAgent& agent) {
    agent.hello();
    agent.expect<wire::Sweep>();
    agent.send(wire::Clean{});
    agent.until_gone();
  });
}

Result<transport::Connection> FakeHosts::not_reached() {
  return fail({"", "cannot be reached", "no route", "", kExitHostLost});
}

void FakeHosts::script(std::function<void(ScriptedAgent&)> agent) { opens_.push_back(scripted(std::move(agent))); }

void FakeHosts::script_again(std::function<void(ScriptedAgent&)> agent) { again_ = scripted(std::move(agent)); }

void FakeHosts::unreachable_again() { again_ = not_reached; }

FakeHosts::Open FakeHosts::scripted(std::function<void(ScriptedAgent&)> agent) {
  return [this, agent = std::move(agent)]() -> Result<transport::Connection> {
    auto [ours, theirs] = sys::make_socketpair();
    ++running_;
    scripts_.emplace_back([this, agent, link = std::move(theirs)]() mutable {
      ScriptedAgent script(std::move(link));
      try {
        agent(script);
      } catch (const ScriptedAgent::Gone&) {  // the launcher may end at any time
      }
      script.close();
      --running_;
    });
    return transport::Connection{std::move(ours), false};
  };
}

void FakeHosts::real(bool passes_fds) {
  opens_.emplace_back([this, passes_fds]() -> Result<transport::Connection> {
    auto [ours, theirs] = sys::make_socketpair();
    const int pid = ::fork();
    if (pid == 0) {
      ::dup2(theirs.get(), 0);
      ::dup2(theirs.get(), 1);
      ::execl(DLAUNCH_AGENT, "dlaunch-agent", nullptr);
      ::_exit(99);
    }
    agents_.push_back(pid);
    return transport::Connection{std::move(ours), passes_fds};
  });
}

void FakeHosts::unreachable() { opens_.emplace_back(not_reached); }

Result<transport::Connection> FakeHosts::open(const plan::Host&) {
  const auto visit = static_cast<size_t>(opened_++);
  return visit < opens_.size() ? opens_[visit]() : again_();
}

void FakeHosts::close() {
  EXPECT_TRUE(agent::until([this] { return running_ == 0; })) << "a script still has its link";
  for (const int pid : agents_) {
    // The launcher also reaps: afterwards the pid is not a child.
    EXPECT_TRUE(agent::until([pid] { return ::waitpid(pid, nullptr, WNOHANG) != 0; })) << "an agent does not end";
  }
  agents_.clear();
}

Console::Console() {
  sys::Pipe pipe = sys::make_pipe();
  read_ = std::move(pipe.read);
  write_ = std::move(pipe.write);
}

Console::~Console() {
  write_.reset();
  if (reader_.joinable()) reader_.join();
}

void Console::begin() {
  if (reader_.joinable()) return;
  reader_ = std::thread([this] {
    sigset_t all;  // only the launcher's thread receives signals, as in dlaunch
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    static thread_local char buffer[1u << 16];
    for (ssize_t size = 0; (size = ::read(read_.get(), buffer, sizeof buffer)) > 0;) {
      text_.append(buffer, static_cast<size_t>(size));
    }
  });
}

std::string Console::text() {
  write_.reset();
  begin();
  reader_.join();
  return text_;
}

LauncherFixture::LauncherFixture() {
  std::signal(SIGPIPE, SIG_IGN);
  sys::become_subreaper();
  settings.stdin_target.kind = plan::StdinTarget::Kind::none;
  policy.grace = std::chrono::seconds(3);
}

LauncherFixture::~LauncherFixture() {
  EXPECT_TRUE(agent::AgentProcess::nothing_left()) << "processes are left";
  agent::until([] {
    for (const sys::Process& process : sys::descendants()) sys::signal_process(process, SIGKILL);
    return sys::reap_all();
  });
}

void LauncherFixture::after(int milliseconds, std::function<void()> then) {
  timers_.push_back(std::make_unique<asio::steady_timer>(io, std::chrono::milliseconds(milliseconds)));
  timers_.back()->async_wait([then = std::move(then)](asio::error_code error) {
    if (!error) then();
  });
}

job::Outcome LauncherFixture::run(std::vector<std::string> argv, int ranks,
                                  const std::function<void(plan::Plan&)>& change) {
  plan::Plan plan;
  plan.job_id = "job";
  const int all = ranks * static_cast<int>(hosts.count());
  plan.apps.push_back({.argv = std::move(argv), .env = {"PATH=/usr/bin:/bin"}, .wdir = "/", .ranks = all});
  for (int rank = 0; rank < all; ++rank) {
    const int host = rank / ranks;
    if (rank % ranks == 0) {
      plan.hosts.emplace_back();
      plan.hosts.back().host.name = "n" + std::to_string(host);
    }
    plan.hosts.back().ranks.push_back(rank);
    plan.ranks.push_back({rank, 0, host, rank % ranks, {}, {"RANK=" + std::to_string(rank)}});
  }
  if (change) change(plan);
  output::StandardStreams streams({out.fd(), err.fd()});
  auto output = output::Output::open(settings.output, rank_facts(plan), streams);
  EXPECT_TRUE(output);
  if (read_at_once) {
    out.begin();
    err.begin();
  }
  bool hung = false;
  after(std::chrono::milliseconds(kPatience).count(), [&] {
    hung = true;
    io.stop();
  });
  Hosts links(io, hosts, plan.job_id, settings, log);
  sys::ReservedPorts ports;
  link::Signals signals(io);
  for (const int signal : sys::kJobSignals) {
    if (!sys::is_kept(signal) || signal == settings.stacks_on) signals.add(signal);
  }
  plan::RoundPlan round_plan(plan);
  Launcher launcher(io, {round_plan, settings, **output, links, ports, signals, listener ? *listener : silent_, log,
                         session::make_components, round});
  const job::Outcome outcome = launcher.run();
  EXPECT_FALSE(hung) << "the job did not end";
  if (after_round) after_round(launcher);
  links.close();
  if (!hung) hosts.close();  // before the launcher ends, as in a real run
  return outcome;
}

}  // namespace dlaunch::launcher
