// Termination of ranks without remaining processes, whichever process ends first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "agent_process.h"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::HasSubstr;

wire::Setup with_grace(std::uint32_t grace_ms, std::uint32_t heartbeat_ms = 60000) {
  wire::Setup setup = quick_setup();
  setup.grace_ms = grace_ms;
  setup.heartbeat_ms = heartbeat_ms;
  return setup;
}

/// A daemon in its own session without a parent; `prefix` runs first in the daemon.
std::vector<std::string> leaves_daemon(const std::string& prefix = "") {
  return {"sh", "-c",
          "setsid sh -c '" + prefix + " echo $$; exec >/dev/null 2>&1; while :; do sleep 1; done' & wait $!"};
}

int daemon_of(AgentProcess& agent, std::uint32_t rank) {
  EXPECT_TRUE(agent.until([&] { return agent.ranks[rank].out.ends_with('\n'); }));
  return std::atoi(agent.ranks[rank].out.c_str());
}

/// The pids of a rank, of a rank that ignores TERM, and of a daemon.
std::vector<int> busy(AgentProcess& agent) {
  agent.start(0, {"sleep", "1000"});
  agent.start(1, {program("daemonize")});
  agent.start(2, {program("signal_echo")});
  const int daemon = daemon_of(agent, 1);
  EXPECT_TRUE(agent.until([&] { return agent.ranks[2].out.starts_with("ready"); }));
  EXPECT_TRUE(agent.ranks[0].started);
  std::vector<int> pids = {daemon};
  for (std::uint32_t rank = 0; rank < 3; ++rank) pids.push_back(static_cast<int>(agent.ranks[rank].started->pid));
  for (const int pid : pids) EXPECT_TRUE(alive(pid));
  return pids;
}

TEST(Signals, ReachTheWholeGroupOfEveryRank) {
  AgentProcess agent;
  const std::vector<std::string> two = {"sh", "-c", program("signal_echo") + " & " + program("signal_echo")};
  agent.start(0, two);
  agent.start(1, {program("signal_echo")});
  const auto count = [&](std::uint32_t rank, const std::string& word) {
    int found = 0;
    for (size_t at = 0; (at = agent.ranks[rank].out.find(word, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  ASSERT_TRUE(agent.until([&] { return count(0, "ready") == 2 && count(1, "ready") == 1; }));
  agent.send(wire::Signal{SIGWINCH});
  EXPECT_TRUE(agent.until([&] { return count(0, "WINCH") == 2 && count(1, "WINCH") == 1; }));
  agent.send(wire::Signal{SIGCONT});
  EXPECT_TRUE(agent.until([&] { return count(0, "CONT") == 2 && count(1, "CONT") == 1; }));
}

TEST(Signals, SignalNoProcessAfterAllHaveEnded) {
  AgentProcess agent;
  agent.run({"true"});
  agent.send(wire::Signal{SIGKILL});
  EXPECT_EQ(agent.run({"echo", "alive"}), "alive\n");
}

TEST(Finish, IsConfirmedAtOnceWithoutRemainingProcesses) {
  AgentProcess agent;
  agent.run({"true"});
  agent.send(wire::Finish{});
  ASSERT_TRUE(agent.until([&] { return agent.clean.has_value(); }));
  EXPECT_TRUE(agent.clean->left.empty());
  EXPECT_EQ(agent.wait_exit(), 0);
}

TEST(Finish, EndsADaemonThatLeftItsSession) {
  AgentProcess agent;
  agent.start(0, {program("daemonize")});
  const int daemon = daemon_of(agent, 0);
  agent.send(wire::Signal{SIGTERM});
  ASSERT_TRUE(agent.until_ended(0));
  EXPECT_TRUE(alive(daemon)) << "a signal for the rank's group ended its daemon";
  const auto start = Clock::now();
  agent.send(wire::Finish{});
  ASSERT_TRUE(agent.until([&] { return agent.clean.has_value(); }));
  EXPECT_LT(Clock::now() - start, 3s) << "it waited for the grace although all had ended";
  EXPECT_TRUE(agent.clean->left.empty());
  EXPECT_FALSE(alive(daemon));
  EXPECT_EQ(agent.wait_exit(), 0);
  EXPECT_TRUE(AgentProcess::nothing_left());
}

TEST(Finish, KillsADaemonThatIgnoresTermAfterTheGrace) {
  AgentProcess agent({.setup = with_grace(400)});
  agent.start(0, leaves_daemon("trap \"\" TERM;"));
  const int daemon = daemon_of(agent, 0);
  const auto start = Clock::now();
  agent.send(wire::Finish{});
  ASSERT_TRUE(agent.until([&] { return agent.clean.has_value(); }));
  EXPECT_GE(Clock::now() - start, 400ms);
  EXPECT_LT(Clock::now() - start, 3s);
  EXPECT_TRUE(agent.clean->left.empty());
  EXPECT_FALSE(alive(daemon));
  EXPECT_TRUE(AgentProcess::nothing_left());
}

TEST(Finish, EndsAStoppedProcessWithinTheGrace) {
  AgentProcess agent;
  agent.start(0, {"sh", "-c", "setsid sh -c 'echo $$; kill -STOP $$' &"});
  const int daemon = daemon_of(agent, 0);
  ASSERT_TRUE(alive(daemon));
  const auto start = Clock::now();
  agent.send(wire::Finish{});
  ASSERT_TRUE(agent.until([&] { return agent.clean.has_value(); }));
  EXPECT_LT(Clock::now() - start, 3s);
}

TEST(Finish, CleanIsTheLastFrameAlsoForASlowReader) {
  AgentProcess agent({.setup = with_grace(0), .layout = quick_layout(64u << 20)});
  agent.start(0, {program("spew"), "100000000"});
  sleep_ms(300);  // the link is full now
  agent.send(wire::Finish{});
  sleep_ms(300);  // a slow reader
  EXPECT_TRUE(agent.until([&] { return agent.clean.has_value(); })) << "it left without its last word";
  EXPECT_EQ(agent.wait_exit(), 0);
}

TEST(LauncherLost, EndOfTheLinkEndsAllRanks) {
  AgentProcess agent;
  const auto pids = busy(agent);
  agent.close_link();
  EXPECT_EQ(agent.wait_exit(), 1);
  for (const int pid : pids) EXPECT_FALSE(alive(pid)) << pid;
  EXPECT_TRUE(AgentProcess::nothing_left());
}

TEST(LauncherLost, KillsARankThatIgnoresTermAfterTheGrace) {
  AgentProcess agent({.setup = with_grace(300)});
  agent.start(0, {program("ignore_term")});
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].out == "ready\n"; }));
  const auto start = Clock::now();
  agent.close_link();
  EXPECT_EQ(agent.wait_exit(), 1);
  EXPECT_GE(Clock::now() - start, 300ms);
  EXPECT_TRUE(AgentProcess::nothing_left());
}

TEST(LauncherLost, RanksCanWriteTheirLastLinesWithoutBlocking) {
  AgentProcess agent({.setup = with_grace(10000), .layout = quick_layout(0)});
  agent.start(
      0, {"sh", "-c", "trap '" + program("spew") + " 1000000; exit' TERM; kill $$ & while :; do sleep 0.05; done"});
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].started.has_value(); }));
  sleep_ms(100);  // until the pipe is full in the middle of the output
  const auto start = Clock::now();
  agent.close_link();
  EXPECT_EQ(agent.wait_exit(), 1);
  EXPECT_LT(Clock::now() - start, 5s) << "it blocked in its pipe until the grace was over";
}

wire::Layout with_lease(std::uint32_t lease_ms) {
  wire::Layout layout = quick_layout();
  layout.lease_ms = lease_ms;
  return layout;
}

TEST(LauncherLost, EndOfTheLeaseEndsAllRanks) {
  AgentProcess agent({.setup = with_grace(5000, 100)});
  agent.start(0, {program("daemonize")});
  const int daemon = daemon_of(agent, 0);
  ASSERT_TRUE(agent.until([&] { return !agent.logs.empty(); }));
  EXPECT_THAT(agent.logs[0].text, HasSubstr("the launcher did not answer in time"));
  EXPECT_EQ(agent.wait_exit(), 1);
  EXPECT_FALSE(alive(daemon));
  EXPECT_TRUE(AgentProcess::nothing_left());
}

TEST(LauncherLost, FramesWithoutAnswersDoNotRenewTheLease) {
  AgentProcess agent({.setup = with_grace(5000, 100)});
  const auto pids = busy(agent);
  const auto start = Clock::now();
  while (!agent.link_ended && Clock::now() - start < kPatience) {
    agent.send(wire::Ping{});
    agent.listen(50ms);
  }
  EXPECT_TRUE(agent.link_ended);
  EXPECT_EQ(agent.wait_exit(), 1);
  for (const int pid : pids) EXPECT_FALSE(alive(pid)) << pid;
}

TEST(LauncherLost, AnsweredPingsRenewTheLease) {
  AgentProcess agent({.setup = with_grace(5000, 100)});
  for (int i = 0; i < 40; ++i) {
    agent.ping();
    agent.listen(20ms);
  }
  EXPECT_FALSE(agent.link_ended);
  agent.ping();
  EXPECT_EQ(agent.run({"echo", "alive"}), "alive\n");
}

TEST(LauncherLost, PausePreventsTheLossUntilThePauseLimit) {
  wire::Setup setup = with_grace(5000, 50);
  setup.pause_limit_ms = 1500;
  AgentProcess agent({.setup = setup, .layout = with_lease(300)});
  const auto start = Clock::now();
  agent.send(wire::Pause{});
  agent.listen(1000ms);
  EXPECT_FALSE(agent.link_ended);
  EXPECT_TRUE(agent.logs.empty());
  ASSERT_TRUE(agent.until([&] { return !agent.logs.empty(); }));
  EXPECT_GE(Clock::now() - start, 1500ms);
}

TEST(LauncherLost, SilenceBeforeTheEndOfALongLeaseIsAllowed) {
  wire::Setup setup = with_grace(5000, 50);
  setup.pause_limit_ms = 60000;
  AgentProcess agent({.setup = setup});
  agent.listen(1000ms);
  EXPECT_FALSE(agent.link_ended);
  EXPECT_EQ(agent.run({"echo", "alive"}), "alive\n");
}

/// As on a host that was frozen: the agent reads Spawn after its lease has ended.
TEST(LauncherLost, NoRankStartsAfterTheEndOfTheLease) {
  wire::Setup setup = with_grace(5000, 100);
  setup.pause_limit_ms = 60000;
  AgentProcess agent({.setup = setup, .layout = with_lease(400)});
  const int worker = agent.worker();
  ::kill(worker, SIGSTOP);
  agent.start(0, {"sh", "-c", "echo started; exec sleep 1000"});
  sleep_ms(1000);
  ::kill(worker, SIGCONT);
  EXPECT_EQ(agent.wait_exit(), 1);
  agent.until([&] { return agent.link_ended; });
  EXPECT_FALSE(agent.ranks[0].started);
  EXPECT_TRUE(AgentProcess::nothing_left());
}

/// As on a host that was frozen: the agent reads Spawn although its launcher has closed the link.
TEST(LauncherLost, NoRankStartsIfTheEndOfTheLinkHasArrived) {
  const std::string file = testing::TempDir() + "started." + std::to_string(::getpid());
  AgentProcess agent;
  const int worker = agent.worker();
  ::kill(worker, SIGSTOP);
  agent.start(0, {"touch", file});
  agent.close_link();
  ::kill(worker, SIGCONT);
  EXPECT_EQ(agent.wait_exit(), 1);
  EXPECT_NE(::access(file.c_str(), F_OK), 0);
  ::unlink(file.c_str());
}

/// The answers that waited in the socket while the agent was stopped are read first.
TEST(LauncherLost, AnswersThatWaitInTheSocketRenewTheLease) {
  wire::Setup setup = with_grace(5000, 200);
  setup.pause_limit_ms = 1600;
  AgentProcess agent({.setup = setup});
  agent.start(0, {"sleep", "1000"});
  ASSERT_TRUE(agent.until([&] { return agent.newest_ping >= 3 && agent.ranks[0].started; }));
  ::kill(agent.worker(), SIGSTOP);
  agent.ping();
  sleep_ms(1200);  // the unrenewed lease ends meanwhile
  ::kill(agent.worker(), SIGCONT);
  for (int i = 0; i < 20; ++i) {
    agent.ping();
    agent.listen(50ms);
  }
  EXPECT_FALSE(agent.link_ended);
}

TEST(LauncherLost, InvalidBytesEndAllRanks) {
  AgentProcess agent;
  const auto pids = busy(agent);
  agent.send_bytes(std::string(100, '\xff'));
  EXPECT_EQ(agent.wait_exit(), 1);
  for (const int pid : pids) EXPECT_FALSE(alive(pid)) << pid;
  agent.listen(100ms);
  EXPECT_TRUE(agent.link_ended);
  EXPECT_TRUE(AgentProcess::nothing_left());
}

TEST(LauncherLost, DifferentProtocolVersionEndsTheAgent) {
  wire::Setup setup = quick_setup();
  setup.version = wire::kVersion + 1;
  AgentProcess agent({.setup = setup});
  EXPECT_EQ(agent.hello->version, wire::kVersion);
  EXPECT_EQ(agent.wait_exit(), 1);
}

TEST(LauncherLost, EndOfTheLinkBeforeTheFirstMessageEndsTheAgent) {
  AgentProcess agent({.send_setup = false});
  agent.close_link();
  EXPECT_EQ(agent.wait_exit(), 1);
  AgentProcess other({.send_setup = false});
  other.send(wire::Pause{});
  other.send(wire::Finish{});
  EXPECT_EQ(other.wait_exit(), 0);
}

TEST(AgentKilled, KilledWorkerLeavesCleanupToTheGuardian) {
  AgentProcess agent;
  const auto pids = busy(agent);
  ::kill(agent.worker(), SIGKILL);
  EXPECT_EQ(agent.wait_exit(), 128 + SIGKILL);
  for (const int pid : pids) EXPECT_FALSE(alive(pid)) << pid;
  EXPECT_TRUE(AgentProcess::nothing_left());
}

TEST(AgentKilled, KilledGuardianLeavesCleanupToTheWorker) {
  AgentProcess agent;
  const auto pids = busy(agent);
  ::kill(agent.guardian(), SIGKILL);
  EXPECT_EQ(agent.wait_exit(), 128 + SIGKILL);
  EXPECT_TRUE(AgentProcess::nothing_left());
  for (const int pid : pids) EXPECT_FALSE(alive(pid)) << pid;
}

TEST(AgentKilled, RanksDieWithTheWorkerAlsoWithoutAGuardian) {
  AgentProcess agent;
  agent.start(0, {program("ignore_term")});
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].out == "ready\n"; }));
  const int pid = static_cast<int>(agent.ranks[0].started->pid);
  ::kill(agent.guardian(), SIGSTOP);
  ::kill(agent.worker(), SIGKILL);
  EXPECT_TRUE(until([&] { return !alive(pid); })) << "PR_SET_PDEATHSIG";
  ::kill(agent.guardian(), SIGCONT);
  EXPECT_EQ(agent.wait_exit(), 128 + SIGKILL);
}

/// The signal goes to both processes of the agent, as batch systems send it. The guardian may forward its signal first.
TEST(AgentTermination, ReportsTheDirectSignalOnceAndContinues) {
  AgentProcess agent;
  const auto pids = busy(agent);
  for (const int pid : {agent.guardian(), agent.worker(), agent.guardian()}) ::kill(pid, SIGTERM);
  ASSERT_TRUE(agent.until([&] { return !agent.told_to_end.empty(); }));
  for (int i = 0; i < 5; ++i) {  // a notice of a late signal requires an answer, too
    agent.ping();
    agent.listen(500ms);
  }
  EXPECT_EQ(std::ranges::count(agent.told_to_end, true, &wire::TerminationNotice::direct), 1);
  EXPECT_EQ(std::ranges::count(agent.told_to_end, false, &wire::TerminationNotice::direct),
            std::ssize(agent.told_to_end) - 1);
  ASSERT_LE(agent.told_to_end.size(), 2u);
  EXPECT_EQ(agent.told_to_end[0].signal, static_cast<std::uint32_t>(SIGTERM));
  EXPECT_GT(agent.told_to_end[0].time_ns, 0);
  for (const int pid : pids) EXPECT_TRUE(alive(pid)) << pid;
  agent.close_link();
  EXPECT_EQ(agent.wait_exit(), 1);
  for (const int pid : pids) EXPECT_FALSE(alive(pid)) << pid;
  EXPECT_TRUE(AgentProcess::nothing_left());
}

TEST(AgentTermination, ReportsASignalToTheGuardianAsForwarded) {
  AgentProcess agent;
  busy(agent);
  for (int i = 0; i < 2; ++i) ::kill(agent.guardian(), SIGUSR1);
  ASSERT_TRUE(agent.until([&] { return !agent.told_to_end.empty(); }));
  ASSERT_EQ(agent.told_to_end.size(), 1u);
  EXPECT_EQ(agent.told_to_end[0].signal, static_cast<std::uint32_t>(SIGUSR1));
  EXPECT_FALSE(agent.told_to_end[0].direct);
  agent.close_link();
  EXPECT_EQ(agent.wait_exit(), 1);
}

TEST(AgentTermination, EndsItsRanksIfTheLauncherDoesNotAnswer) {
  AgentProcess agent;
  const auto pids = busy(agent);
  ::kill(agent.guardian(), SIGTERM);
  EXPECT_EQ(agent.wait_exit(), 1);
  for (const int pid : pids) EXPECT_FALSE(alive(pid)) << pid;
  EXPECT_TRUE(AgentProcess::nothing_left());
}

}  // namespace
}  // namespace dlaunch::agent
