#include "agent_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "sys/descendants.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

using Clock = std::chrono::steady_clock;

int run_agent(const sys::Fd& link, const std::vector<std::string>& login, const std::function<void()>& before_exec) {
  const int pid = ::fork();
  if (pid != 0) return pid;
  ::dup2(link.get(), 0);
  ::dup2(link.get(), 1);
  for (const char* name : {"HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"}) ::unsetenv(name);
  for (const std::string& entry : login) ::putenv(const_cast<char*>(entry.c_str()));  // effective until the exec below
  if (before_exec) before_exec();
  ::execl(DLAUNCH_AGENT, "dlaunch-agent", nullptr);
  ::_exit(99);
}

}  // namespace

std::string program(const std::string& name) { return std::string(DLAUNCH_PROGRAMS "/") + name; }

bool until(const std::function<bool()>& happened, std::chrono::milliseconds patience) {
  for (const auto deadline = Clock::now() + patience; Clock::now() < deadline; sleep_ms(2)) {
    if (happened()) return true;
  }
  return happened();
}

bool alive(int pid) {
  for (const sys::Process& process : sys::descendants()) {
    if (process.pid == pid) return true;
  }
  return false;
}

void sleep_ms(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

AgentProcess::AgentProcess(Options options) {
  std::signal(SIGPIPE, SIG_IGN);
  sys::become_subreaper();
  auto [ours, theirs] = sys::make_socketpair();
  link_ = std::move(ours);
  guardian_ = run_agent(theirs, options.login, options.before_exec);
  theirs.reset();
  if (!options.send_setup) return;
  send(options.setup);
  send(options.layout);
  EXPECT_TRUE(until([this] { return hello.has_value(); })) << "the agent does not answer";
}

AgentProcess::~AgentProcess() {
  link_.reset();
  for (const sys::Process& process : sys::descendants()) ::kill(process.pid, SIGCONT);
  agent::until([] {
    for (const sys::Process& process : sys::descendants()) sys::signal_process(process, SIGKILL);
    return sys::reap_all();
  });
}

void AgentProcess::send(const wire::Message& message) {
  std::string bytes;
  wire::encode(message, bytes);
  send_bytes(bytes);
}

void AgentProcess::send_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::send(link_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) {
      read_some(std::chrono::milliseconds(1));
    } else if (size < 0) {
      return;  // the agent has ended: the test fails by the missing messages
    } else {
      bytes.remove_prefix(static_cast<size_t>(size));
    }
  }
}

void AgentProcess::start(std::uint32_t rank, std::vector<std::string> argv,
                         const std::function<void(wire::Program&, wire::Spawn&)>& change) {
  wire::Program app{apps_++, std::move(argv), {"PATH=/usr/bin:/bin"}, "/"};
  wire::Spawn spawn;
  spawn.rank = rank;
  spawn.app = app.app;
  if (change) change(app, spawn);
  RankSeen& seen = ranks[rank];
  seen.out_closed = spawn.out == wire::StreamMode::file || spawn.out == wire::StreamMode::null;
  seen.err_closed = spawn.err != wire::StreamMode::pipe;
  send(app);
  send(spawn);
}

bool AgentProcess::until(const std::function<bool()>& happened) {
  const auto deadline = Clock::now() + kPatience;
  while (!happened()) {
    if (link_ended || Clock::now() > deadline) return false;
    read_some(std::chrono::milliseconds(10));
  }
  return true;
}

void AgentProcess::listen(std::chrono::milliseconds time) {
  const auto deadline = Clock::now() + time;
  while (!link_ended && Clock::now() < deadline) read_some(std::chrono::milliseconds(5));
}

std::string AgentProcess::run(std::vector<std::string> argv,
                              const std::function<void(wire::Program&, wire::Spawn&)>& change) {
  const auto rank = static_cast<std::uint32_t>(ranks.size());
  start(rank, std::move(argv), change);
  EXPECT_TRUE(until_ended(rank));
  return ranks[rank].out;
}

bool AgentProcess::read_some(std::chrono::milliseconds wait) {
  pollfd ready{link_.get(), POLLIN, 0};
  if (!link_ || ::poll(&ready, 1, static_cast<int>(wait.count())) <= 0) return false;
  static char buffer[1u << 18];
  const ssize_t size = sys::receive_some(link_.get(), buffer, fds_);
  if (size <= 0) {
    link_ended = true;
    return false;
  }
  decoder_.feed({buffer, static_cast<size_t>(size)});
  for (;;) {
    auto next = decoder_.next();
    EXPECT_TRUE(next) << "the agent sends garbage";
    if (!next || !*next) break;
    take(std::move(**next));
  }
  if (clean) {  // as the launcher: the agent waits for the end of the link
    close_link();
    link_ended = true;
  }
  return true;
}

void AgentProcess::take(wire::Message&& message) {
  if (const auto* ping = std::get_if<wire::Ping>(&message)) newest_ping = ping->number;
  EXPECT_FALSE(clean) << "something came after Clean";
  if (auto* said = std::get_if<wire::Hello>(&message)) hello = *said;
  if (auto* said = std::get_if<wire::Clean>(&message)) clean = *said;
  if (auto* said = std::get_if<wire::Stacks>(&message)) stacks.push_back(std::move(*said));
  if (auto* said = std::get_if<wire::TerminationNotice>(&message)) told_to_end.push_back(*said);
  if (auto* said = std::get_if<wire::HostInfo>(&message)) facts.push_back(*said);
  if (auto* said = std::get_if<wire::CommandResults>(&message)) told.push_back(*said);
  if (auto* said = std::get_if<wire::Log>(&message)) logs.push_back(*said);
  if (auto* said = std::get_if<wire::Prepared>(&message)) prepared.push_back(*said);
  if (auto* said = std::get_if<wire::StageCredit>(&message)) stage_credit += said->bytes;
  if (auto* said = std::get_if<wire::SpawnFailed>(&message)) ranks[said->rank].refused = *said;
  if (auto* said = std::get_if<wire::StdinClosed>(&message)) ranks[said->rank].stdin_closed = true;
  if (auto* said = std::get_if<wire::Credit>(&message)) ranks[said->rank].stdin_credit += said->bytes;
  if (auto* said = std::get_if<wire::Started>(&message)) {
    RankSeen& seen = ranks[said->rank];
    seen.started = *said;
    for (int stream = 0; stream < 2; ++stream) {
      if ((said->fds >> stream & 1) == 0) continue;
      ASSERT_FALSE(fds_.empty()) << "a descriptor was announced and did not come";
      seen.fds.push_back(std::move(fds_.front()));
      fds_.erase(fds_.begin());
    }
  }
  if (auto* said = std::get_if<wire::Ended>(&message)) {
    EXPECT_TRUE(ranks[said->rank].started) << "it ended before it started";
    EXPECT_FALSE(ranks[said->rank].ended) << "it ended twice";
    ranks[said->rank].ended = *said;
  }
  if (auto* said = std::get_if<wire::OutputData>(&message)) {
    RankSeen& seen = ranks[said->rank];
    EXPECT_TRUE(seen.started) << "output of a rank that did not start";
    bool& closed = said->stream == 1 ? seen.out_closed : seen.err_closed;
    EXPECT_FALSE(closed) << "output after the stream's end";
    EXPECT_LE(said->bytes.size(), wire::kMaxOutput);
    closed = said->bytes.empty();
    (said->stream == 1 ? seen.out : seen.err) += said->bytes;
  }
}

int AgentProcess::wait_exit() {
  if (exit_) return *exit_;
  int status = 0;
  const bool ended = agent::until([&] { return ::waitpid(guardian_, &status, WNOHANG) == guardian_; });
  if (!ended) return -1;
  exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return *exit_;
}

bool AgentProcess::nothing_left() {
  return agent::until([] { return sys::reap_all(); });
}

}  // namespace dlaunch::agent
