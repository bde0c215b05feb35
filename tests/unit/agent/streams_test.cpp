// The agent's streams to and from its ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent_process.h"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;
using wire::StreamMode;

wire::Setup handing_over() {
  wire::Setup setup = quick_setup();
  setup.hand_over = true;
  return setup;
}

void with_stdin(wire::Program&, wire::Spawn& spawn) { spawn.in = StreamMode::pipe; }

std::string read_all(const sys::Fd& fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t size = 0; (size = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(size));
  return text;
}

/// A remaining grant smaller than an atomic pipe write waits for the next grant.
bool uses_up(size_t sent, size_t granted) { return sent <= granted && sent + PIPE_BUF > granted; }

TEST(Streams, SendExactlyTheGrant) {
  constexpr std::uint32_t kFirst = 10000;
  AgentProcess agent({.layout = quick_layout(kFirst)});
  agent.start(0, {program("spew"), "500000"});
  ASSERT_TRUE(agent.until([&] { return uses_up(agent.ranks[0].out.size(), kFirst); }));
  agent.listen(50ms);
  EXPECT_TRUE(uses_up(agent.ranks[0].out.size(), kFirst));
  size_t granted = kFirst;
  for (const std::uint32_t more : {1u, 77u, 40000u, 100000u}) {
    granted += more;
    agent.send(wire::Credit{0, 1, more});
    ASSERT_TRUE(agent.until([&] { return uses_up(agent.ranks[0].out.size(), granted); }));
    agent.listen(20ms);
    EXPECT_TRUE(uses_up(agent.ranks[0].out.size(), granted));
  }
  EXPECT_FALSE(agent.ranks[0].ended) << "it has more to write than pipe and grants hold";
  agent.send(wire::Credit{0, 2, 1u << 20});  // for the other stream
  agent.listen(20ms);
  EXPECT_TRUE(uses_up(agent.ranks[0].out.size(), granted));
  agent.send(wire::Credit{0, 1, 1u << 20});
  ASSERT_TRUE(agent.until_ended(0));
  EXPECT_EQ(agent.ranks[0].out.size(), 500000u);
  EXPECT_THAT(agent.ranks[0].out, StartsWith("0 abc"));
}

/// The pauses separate the agent's reads.
TEST(Streams, EndOfTheCreditDoesNotCutALine) {
  AgentProcess agent({.layout = quick_layout(8000)});
  agent.start(0, {"sh", "-c", "for i in 1 2 3; do printf '%03000d\\n' $i; sleep 0.1; done"});
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].out.size() >= 6002; }));
  agent.listen(200ms);
  EXPECT_EQ(agent.ranks[0].out.size(), 6002u) << "a piece of the third line would look like a line that stops there";
  agent.send(wire::Credit{0, 1, 8000});
  ASSERT_TRUE(agent.until_ended(0));
  EXPECT_EQ(agent.ranks[0].out.size(), 9003u);
}

TEST(Streams, NoisyRankWithoutCreditDoesNotStarveOthers) {
  AgentProcess agent({.layout = quick_layout(2 * PIPE_BUF)});
  agent.start(0, {program("spew"), "100000000"});
  ASSERT_TRUE(agent.until([&] { return uses_up(agent.ranks[0].out.size(), 2 * PIPE_BUF); }));
  EXPECT_EQ(agent.run({"echo", "here"}), "here\n");
}

TEST(Streams, ReportAnEndWhileOutputWaitsForCredit) {
  AgentProcess agent({.layout = quick_layout(PIPE_BUF)});
  agent.start(0, {program("spew"), "5000"});
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].ended.has_value(); }));
  agent.listen(600ms);  // longer than a pipe may be idle
  EXPECT_EQ(agent.ranks[0].out.size(), static_cast<size_t>(PIPE_BUF / 80 * 80)) << "whole lines";
  EXPECT_FALSE(agent.ranks[0].out_closed);
  agent.send(wire::Credit{0, 1, 10000});
  ASSERT_TRUE(agent.until_ended(0));
  EXPECT_EQ(agent.ranks[0].out.size(), 5000u);
}

TEST(Streams, GrandchildWithThePipeDoesNotKeepTheStreamOpen) {
  AgentProcess agent;
  const std::string pid = agent.run({program("hold_pipe")});
  EXPECT_TRUE(alive(std::stoi(pid)));
}

TEST(Streams, CarriesStdinToItsEnd) {
  AgentProcess agent;
  agent.start(0, {"cat"}, with_stdin);
  std::string sent;
  for (int i = 0; i < 20; ++i) {
    std::string piece(30000, static_cast<char>('a' + i));
    piece[0] = '\0';
    sent += piece;
    const auto room = [&] { return sent.size() - agent.ranks[0].stdin_credit <= wire::kStdinCredit; };
    ASSERT_TRUE(agent.until(room));
    agent.send(wire::Stdin{0, piece, false});
  }
  agent.send(wire::Stdin{0, "end", true});
  ASSERT_TRUE(agent.until_ended(0));
  EXPECT_TRUE(agent.ranks[0].out == sent + "end");
  EXPECT_EQ(agent.ranks[0].stdin_credit, sent.size() + 3);
  EXPECT_FALSE(agent.ranks[0].stdin_closed);
}

/// The kernel's default: 16 pages.
std::size_t pipe_size() { return 16 * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

TEST(Streams, GrantsOnlyBytesThatTheRankRead) {
  AgentProcess agent;
  agent.start(0, {"sleep", "100"}, with_stdin);
  agent.send(wire::Stdin{0, std::string(wire::kStdinCredit, 'x'), false});
  agent.listen(100ms);
  EXPECT_EQ(agent.ranks[0].stdin_credit, std::min<std::uint64_t>(pipe_size(), wire::kStdinCredit));
}

TEST(Streams, MoreStdinThanWasGrantedEndsTheRanks) {
  AgentProcess agent;
  agent.start(0, {"sleep", "100"}, with_stdin);
  for (std::size_t sent = 0; sent <= pipe_size() + wire::kStdinCredit; sent += wire::kMaxOutput) {
    agent.send(wire::Stdin{0, std::string(wire::kMaxOutput, 'x'), false});
  }
  ASSERT_TRUE(agent.until([&] { return !agent.logs.empty(); }));
  EXPECT_THAT(agent.logs[0].text, testing::HasSubstr("more stdin than the agent granted"));
}

TEST(Streams, ReportsAClosedStdin) {
  AgentProcess agent;
  agent.start(0, {"sh", "-c", "exec <&-; echo closed; exec sleep 100"}, with_stdin);
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].out == "closed\n"; }));
  agent.send(wire::Stdin{0, "nobody reads", false});
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].stdin_closed; }));
  agent.send(wire::Stdin{0, "still nobody", true});
  agent.listen(20ms);
  EXPECT_EQ(agent.ranks[0].stdin_credit, 0u);
}

TEST(Streams, DropStdinForEndedOrUnknownRanks) {
  AgentProcess agent;
  agent.run({"true"}, with_stdin);
  agent.send(wire::Stdin{0, "late", true});
  agent.send(wire::Stdin{55, "nobody", true});
  EXPECT_EQ(agent.run({"echo", "alive"}), "alive\n");
}

TEST(Streams, MergedStderrKeepsItsPlaceInStdout) {
  AgentProcess agent;
  const std::string out = agent.run({"sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2"},
                                    [](wire::Program&, wire::Spawn& spawn) { spawn.err = StreamMode::joined; });
  EXPECT_EQ(out, "1\n2\n3\n4\n");
  EXPECT_EQ(agent.ranks[0].err, "");
}

class FileStreams : public testing::Test {
 protected:
  FileStreams() {
    std::string name = testing::TempDir() + "dlaunch-agent-XXXXXX";
    directory = ::mkdtemp(name.data());
  }
  ~FileStreams() override { std::filesystem::remove_all(directory); }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string directory;
};

TEST_F(FileStreams, GoStraightToTheFile) {
  std::ofstream(directory + "/out") << "old content";
  AgentProcess agent;
  agent.run({"sh", "-c", "echo out; echo err >&2"}, [&](wire::Program&, wire::Spawn& spawn) {
    spawn.out = StreamMode::file;
    spawn.err = StreamMode::file;
    spawn.out_path = directory + "/out";
    spawn.err_path = directory + "/err";
  });
  EXPECT_EQ(agent.ranks[0].started->fds, 0);
  EXPECT_EQ(content(directory + "/out"), "out\n");
  EXPECT_EQ(content(directory + "/err"), "err\n");
}

TEST_F(FileStreams, RefuseTheStartIfTheOpenFails) {
  std::ofstream(directory + "/none") << "no directory";
  AgentProcess agent;
  agent.run({"true"}, [&](wire::Program&, wire::Spawn& spawn) {
    spawn.out = StreamMode::file;
    spawn.out_path = directory + "/none/out";
  });
  ASSERT_TRUE(agent.ranks[0].refused);
  EXPECT_EQ(agent.ranks[0].refused->error, static_cast<std::uint32_t>(ENOTDIR));
  EXPECT_THAT(agent.ranks[0].refused->what, HasSubstr(directory + "/none/out"));
}

void with_terminal(wire::Program&, wire::Spawn& spawn) {
  spawn.in = StreamMode::pipe;
  spawn.out = StreamMode::pty;
  spawn.err = StreamMode::joined;
}

TEST(Terminal, HasTheRequestedSize) {
  AgentProcess agent;
  agent.send(wire::WindowSize{33, 101});
  EXPECT_EQ(agent.run({program("tty_info")}, with_terminal), "tty 1 1 1\nsize 33 101\n");
}

TEST(Terminal, IsStdinOnlyIfRequested) {
  AgentProcess agent;
  const std::string out = agent.run({program("tty_info")}, [](wire::Program&, wire::Spawn& spawn) {
    spawn.out = StreamMode::pty;
    spawn.err = StreamMode::joined;
  });
  EXPECT_THAT(out, StartsWith("tty 0 1 1\n"));
}

TEST(Terminal, NewSizeSendsASignalToTheRank) {
  AgentProcess agent;
  agent.start(0, {program("signal_echo")}, with_terminal);
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].out.starts_with("ready"); }));
  agent.send(wire::WindowSize{44, 55});
  EXPECT_TRUE(agent.until([&] { return agent.ranks[0].out.find("WINCH\n") != std::string::npos; }));
}

TEST(Terminal, TheEndOfInputReachesTheRank) {
  AgentProcess agent;
  agent.start(0, {"cat"}, with_terminal);
  agent.send(wire::Stdin{0, "a line\n", true});
  ASSERT_TRUE(agent.until_ended(0));
  EXPECT_EQ(agent.ranks[0].out, "a line\n");
}

TEST(Terminal, EndOfInputReachesTheRankAlsoWithinALine) {
  AgentProcess agent;
  agent.start(0, {"cat"}, with_terminal);
  agent.send(wire::Stdin{0, "no newline", true});
  ASSERT_TRUE(agent.until_ended(0));
  EXPECT_EQ(agent.ranks[0].out, "no newline");
}

TEST(HandOver, StartedCarriesBothReadEnds) {
  AgentProcess agent({.setup = handing_over()});
  agent.start(0, {"sh", "-c", "echo out; echo err >&2"});
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].ended.has_value(); }));
  EXPECT_EQ(agent.ranks[0].started->fds, 3);
  ASSERT_EQ(agent.ranks[0].fds.size(), 2u);
  EXPECT_EQ(read_all(agent.ranks[0].fds[0]), "out\n");
  EXPECT_EQ(read_all(agent.ranks[0].fds[1]), "err\n");
  EXPECT_FALSE(agent.ranks[0].out_closed) << "no frames for passed streams";
}

TEST(HandOver, StartedCarriesOnlyStderrIfStdoutIsAFile) {
  AgentProcess agent({.setup = handing_over()});
  agent.start(0, {"sh", "-c", "echo out; echo err >&2"},
              [](wire::Program&, wire::Spawn& spawn) { spawn.out = StreamMode::null; });
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].ended.has_value(); }));
  EXPECT_EQ(agent.ranks[0].started->fds, 2);
  ASSERT_EQ(agent.ranks[0].fds.size(), 1u);
  EXPECT_EQ(read_all(agent.ranks[0].fds[0]), "err\n");
}

TEST(HandOver, EachOfManyRanksHasItsOwnReadEnds) {
  AgentProcess agent({.setup = handing_over()});
  for (std::uint32_t rank = 0; rank < 40; ++rank) agent.start(rank, {"echo", std::to_string(rank)});
  for (std::uint32_t rank = 0; rank < 40; ++rank) {
    ASSERT_TRUE(agent.until([&] { return agent.ranks[rank].started.has_value(); }));
    ASSERT_EQ(agent.ranks[rank].fds.size(), 2u);
    EXPECT_EQ(read_all(agent.ranks[rank].fds[0]), std::to_string(rank) + "\n");
  }
}

TEST(HandOver, ReadEndsCloseWithTheirRank) {
  AgentProcess agent({.setup = handing_over()});
  agent.start(0, {"true"});
  agent.start(1, {"sleep", "100"});
  ASSERT_TRUE(agent.until([&] { return agent.ranks[1].started.has_value(); }));
  EXPECT_EQ(read_all(agent.ranks[0].fds[0]), "");  // the stream ends although rank 1 is alive
}

}  // namespace
}  // namespace dlaunch::agent
