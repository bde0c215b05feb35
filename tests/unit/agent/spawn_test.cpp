// The environment and descriptors of a rank, and failures of its start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <sstream>

#include "agent_process.h"

namespace dlaunch::agent {
namespace {

using testing::HasSubstr;
using wire::StreamMode;

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

/// The first word after "NAME:" in /proc/PID/status.
std::string field(const std::string& status, const std::string& name) {
  std::istringstream lines(status);
  for (std::string key; lines >> key;) {
    std::string value;
    if (key == name + ":") lines >> value;
    if (key == name + ":") return value;
    std::getline(lines, value);
  }
  return "no such field";
}

TEST(Spawn, SendsHello) {
  const AgentProcess agent;
  EXPECT_EQ(agent.hello->version, wire::kVersion);
  EXPECT_FALSE(agent.hello->host.empty());
  EXPECT_FALSE(agent.hello->machine.empty());
  EXPECT_TRUE(alive(agent.worker()));
}

TEST(Spawn, StartsARankAndForwardsItsStreams) {
  AgentProcess agent;
  agent.start(7, shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(agent.until_ended(7));
  const RankSeen& rank = agent.ranks[7];
  EXPECT_GT(rank.started->pid, 1u);
  EXPECT_EQ(rank.started->fds, 0);
  EXPECT_GT(rank.ended->time_ns, rank.started->time_ns);
  EXPECT_EQ(rank.out, "out\n");
  EXPECT_EQ(rank.err, "err\n");
  EXPECT_TRUE(WIFEXITED(static_cast<int>(rank.ended->wait_status)));
  EXPECT_EQ(WEXITSTATUS(static_cast<int>(rank.ended->wait_status)), 3);
}

TEST(Spawn, ReportsTheSignalOfARanksEnd) {
  AgentProcess agent;
  agent.run({program("die_by"), "11"});
  EXPECT_EQ(WTERMSIG(static_cast<int>(agent.ranks[0].ended->wait_status)), SIGSEGV);
}

struct Refusal {
  std::vector<std::string> argv;
  std::string wdir;
  int error;
  std::string what;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.what; }

class Refuses : public testing::TestWithParam<Refusal> {};

TEST_P(Refuses, WithErrnoAndOperandAndContinues) {
  AgentProcess agent;
  agent.start(0, GetParam().argv, [](wire::Program& app, wire::Spawn&) { app.wdir = GetParam().wdir; });
  ASSERT_TRUE(agent.until_ended(0));
  ASSERT_TRUE(agent.ranks[0].refused);
  EXPECT_EQ(agent.ranks[0].refused->error, static_cast<std::uint32_t>(GetParam().error));
  EXPECT_THAT(agent.ranks[0].refused->what, HasSubstr(GetParam().what));
  EXPECT_FALSE(agent.ranks[0].started);
  EXPECT_EQ(agent.run({"echo", "next"}), "next\n");
}

TEST(Spawn, AddsTheLoginVariablesOfThisHost) {
  AgentOptions options;
  options.login = {"HOME=/home/ann", "USER=ann", "TMPDIR=/big"};
  AgentProcess agent(options);
  const std::string out = agent.run({program("print_env"), "HOME", "USER", "TMPDIR"},
                                    [](wire::Program& app, wire::Spawn&) { app.env = {"TMPDIR=/mine"}; });
  EXPECT_EQ(out, "/home/ann\nann\n/mine\n");
}

INSTANTIATE_TEST_SUITE_P(
    Spawn, Refuses,
    testing::Values(Refusal{{"no-such-program"}, "/", ENOENT, "program \"no-such-program\": not found in PATH"},
                    Refusal{{"./no-such-program"}, "/usr", ENOENT, "./no-such-program"},
                    Refusal{{"/etc/passwd"}, "/", EACCES, "/etc/passwd"}, Refusal{{"/usr"}, "/", EISDIR, "/usr"},
                    Refusal{{"true"}, "/no/such/directory", ENOENT, "working directory /no/such/directory"},
                    Refusal{{"true"}, "/etc/passwd", ENOTDIR, "working directory /etc/passwd"},
                    Refusal{{"true"}, "/bin/sh", ENOTDIR, "working directory /bin/sh"},
                    Refusal{{}, "/", ENOENT, "missing program"}));

TEST(Spawn, RefusesAFileThatTheKernelCannotExecute) {
  const std::string path = testing::TempDir() + "dlaunch-not-a-program";
  FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_TRUE(file);
  std::fputs(
      "\x7f"
      "ELF but not really\n",
      file);
  std::fclose(file);
  ::chmod(path.c_str(), 0755);
  AgentProcess agent;
  agent.run({path});
  std::filesystem::remove(path);
  ASSERT_TRUE(agent.ranks[0].refused);
  EXPECT_EQ(agent.ranks[0].refused->error, static_cast<std::uint32_t>(ENOEXEC));
  EXPECT_THAT(agent.ranks[0].refused->what, HasSubstr(path));
}

TEST(Spawn, RefusesAnUnknownProgram) {
  AgentProcess agent;
  wire::Spawn spawn;
  spawn.app = 77;
  agent.send(spawn);
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].refused.has_value(); }));
}

TEST(Spawn, FindsTheProgramInTheRanksOwnPathAndDirectory) {
  AgentProcess agent;
  const std::string out = agent.run(
      {"exit_with", "5"}, [](wire::Program& app, wire::Spawn&) { app.env = {"PATH=/nowhere:" DLAUNCH_PROGRAMS}; });
  EXPECT_EQ(WEXITSTATUS(static_cast<int>(agent.ranks[0].ended->wait_status)), 5);
  agent.run({"./exit_with", "6"}, [](wire::Program& app, wire::Spawn&) { app.wdir = DLAUNCH_PROGRAMS; });
  EXPECT_EQ(WEXITSTATUS(static_cast<int>(agent.ranks[1].ended->wait_status)), 6);
  agent.run({"exit_with"}, [](wire::Program& app, wire::Spawn&) { app.wdir = DLAUNCH_PROGRAMS; });
  EXPECT_THAT(agent.ranks[2].refused->what, HasSubstr("contains it: ./exit_with"));
}

TEST(Spawn, RankHasExactlyThreeDescriptors) {
  AgentProcess agent;
  agent.start(100, {"sleep", "100"}, [](wire::Program&, wire::Spawn& spawn) { spawn.in = StreamMode::pipe; });
  agent.start(101, {"sleep", "100"}, [](wire::Program&, wire::Spawn& spawn) {
    spawn.out = StreamMode::pty;
    spawn.in = StreamMode::pipe;
    spawn.err = StreamMode::joined;
  });
  ASSERT_TRUE(agent.until([&] { return agent.ranks[101].started.has_value(); }));
  EXPECT_THAT(agent.run({program("fd_list")}),
              testing::MatchesRegex("0 /dev/null\n1 pipe:\\[[0-9]+\\]\n2 pipe:\\[[0-9]+\\]\n"));
}

TEST(Spawn, RankHasThreeDescriptorsAlsoIfTheAgentStartsWithoutStderr) {
  AgentProcess agent({.before_exec = [] { ::close(2); }});
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(agent.run({program("fd_list")}),
                testing::MatchesRegex("0 /dev/null\n1 pipe:\\[[0-9]+\\]\n2 pipe:\\[[0-9]+\\]\n"));
  }
}

TEST(Spawn, RankDoesNotInheritDescriptorsOfTheAgentsParent) {
  AgentProcess agent({.before_exec = [] { ::dup2(2, 57); }});
  EXPECT_THAT(agent.run({program("fd_list")}), testing::Not(HasSubstr("57 ")));
}

TEST(Spawn, SignalsHaveDefaultDispositions) {
  AgentProcess agent({.before_exec = [] {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    for (int signal = 1; signal <= SIGRTMAX; ++signal) ::signal(signal, SIG_IGN);
  }});
  const std::string status = agent.run({"cat", "/proc/self/status"});
  EXPECT_EQ(field(status, "SigBlk"), "0000000000000000");
  EXPECT_EQ(field(status, "SigIgn"), "0000000000000000");
}

TEST(Spawn, RankGetsTheOriginalLimitOfOpenFiles) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 321;
  AgentProcess agent({.before_exec = [limit] { ::setrlimit(RLIMIT_NOFILE, &limit); }});
  EXPECT_EQ(agent.run({program("rlimit_nofile")}), "321 " + std::to_string(limit.rlim_max) + "\n");
}

TEST(Spawn, RankLeadsItsOwnSessionAndGroup) {
  AgentProcess agent;
  const std::string stat = agent.run(shell("cat /proc/$$/stat"));
  const std::string pid = std::to_string(agent.ranks[0].started->pid);
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string state, parent, group, session;
  fields >> state >> parent >> group >> session;
  EXPECT_EQ(parent, std::to_string(agent.worker()));
  EXPECT_EQ(group, pid);
  EXPECT_EQ(session, pid);
}

TEST(Spawn, EveryByteOfTheEnvironmentArrives) {
  std::string odd;
  for (int byte = 1; byte < 256; ++byte) odd += static_cast<char>(byte);
  AgentProcess agent;
  const std::string out =
      agent.run({program("print_env"), "ODD", "OWN", "EMPTY"}, [&](wire::Program& app, wire::Spawn& spawn) {
        app.env = {"ODD=" + odd, "EMPTY="};
        spawn.env = {"OWN=a=b"};
      });
  EXPECT_EQ(out, odd + "\na=b\n\n");
  EXPECT_EQ(agent.run({"/usr/bin/env"},
                      [](wire::Program& app, wire::Spawn& spawn) {
                        app.env = {"A=1"};
                        spawn.env = {"B=2"};
                      }),
            "A=1\nB=2\n");
}

TEST(Spawn, PassesAValueOf131000Bytes) {
  const std::string large(131000, 'v');
  AgentProcess agent;
  const std::string out = agent.run({program("print_env"), "LARGE"},
                                    [&](wire::Program& app, wire::Spawn&) { app.env = {"LARGE=" + large}; });
  EXPECT_TRUE(out == large + "\n") << out.size() << " bytes";
}

TEST(Spawn, RefusesAValueThatIsTooLongForExec) {
  AgentProcess agent;
  const std::size_t longest = 32 * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));  // MAX_ARG_STRLEN
  agent.run({program("print_env"), "LARGE"},
            [&](wire::Program& app, wire::Spawn&) { app.env = {"LARGE=" + std::string(longest, 'v')}; });
  ASSERT_TRUE(agent.ranks[0].refused);
  EXPECT_EQ(agent.ranks[0].refused->error, static_cast<std::uint32_t>(E2BIG));
}

TEST(Spawn, ManyRanksAtOnce) {
  AgentProcess agent;
  constexpr std::uint32_t kRanks = 100;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) agent.start(rank, {"echo", std::to_string(rank)});
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(agent.until_ended(rank));
    EXPECT_EQ(agent.ranks[rank].out, std::to_string(rank) + "\n");
  }
}

TEST(Spawn, RefusesADuplicateStart) {
  AgentProcess agent;
  agent.start(0, {"sleep", "100"});
  agent.start(0, {"true"});
  ASSERT_TRUE(agent.until([&] { return agent.ranks[0].refused && agent.ranks[0].started; }));
  EXPECT_EQ(agent.ranks[0].refused->error, static_cast<std::uint32_t>(EEXIST));
}

TEST(Spawn, SignalReachesAllEarlierStarts) {
  AgentProcess agent;
  constexpr std::uint32_t kRanks = 7;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) agent.start(rank, {"sleep", "100"});
  agent.send(wire::Signal{SIGTERM});
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(agent.until_ended(rank));
    EXPECT_EQ(WTERMSIG(static_cast<int>(agent.ranks[rank].ended->wait_status)), SIGTERM);
  }
}

TEST(Spawn, ReportsTheActualCpus) {
  wire::Layout layout = quick_layout();
  layout.report_cpus = true;
  AgentProcess agent({.layout = layout});
  agent.run({"true"});
  cpu_set_t mine;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  EXPECT_EQ(agent.ranks[0].started->cpus.size(), static_cast<size_t>(CPU_COUNT(&mine)));
}

}  // namespace
}  // namespace dlaunch::agent
