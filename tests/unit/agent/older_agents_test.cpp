// A sweep ends older agents of the job on its host: an agent without a process starts no rank later.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>

#include "agent_process.h"
#include "sys/descendants.h"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

AgentOptions of_job(const std::string& job_id, std::vector<std::string> login = {}) {
  AgentOptions options{.login = std::move(login)};
  options.setup.job_id = job_id;
  options.setup.grace_ms = 500;
  return options;
}

void stop(const AgentProcess& agent) {
  ::kill(agent.guardian(), SIGSTOP);  // first: a running guardian kills a worker that stays stopped
  ::kill(agent.worker(), SIGSTOP);
}

/// The agent of the options sweeps, and confirms that nothing is left. Its destructor ends all processes of the test.
[[nodiscard]] std::unique_ptr<AgentProcess> sweep(const AgentOptions& options) {
  auto next = std::make_unique<AgentProcess>(options);
  next->send(wire::Sweep{});
  EXPECT_TRUE(next->until([&] { return next->clean.has_value(); }));
  if (next->clean) {
    EXPECT_THAT(next->clean->left, IsEmpty());
  }
  EXPECT_EQ(next->wait_exit(), 0);
  return next;
}

TEST(OlderAgents, EndWithoutTheStartOfAWaitingRank) {
  const std::string started = testing::TempDir() + "dlaunch-started-" + std::to_string(::getpid());
  const AgentOptions options = of_job("stopped");
  AgentProcess older(options);
  older.start(0, {"sleep", "1000"});
  ASSERT_TRUE(older.until([&] { return older.ranks[0].started.has_value(); }));
  const int rank = static_cast<int>(older.ranks[0].started->pid);
  stop(older);
  older.start(1, {"touch", started});  // waits in the socket of the stopped worker
  const auto sweeper = sweep(options);
  EXPECT_EQ(older.wait_exit(), 128 + SIGKILL);
  EXPECT_FALSE(alive(older.worker()));
  EXPECT_FALSE(alive(rank));
  ::kill(older.worker(), SIGCONT);
  sleep_ms(200);
  EXPECT_FALSE(std::filesystem::exists(started)) << "the worker started a rank after the sweep";
}

TEST(OlderAgents, EndIfOnlyTheWorkerIsStopped) {
  const AgentOptions options = of_job("worker");
  AgentProcess older(options);
  ::kill(older.worker(), SIGSTOP);
  const auto sweeper = sweep(options);
  EXPECT_NE(older.wait_exit(), -1);
  EXPECT_TRUE(AgentProcess::nothing_left());
}

TEST(OlderAgents, OfAnotherJobStay) {
  AgentProcess other(of_job("another"));
  const auto sweeper = sweep(of_job("anothe"));
  EXPECT_TRUE(alive(other.worker()));
  EXPECT_EQ(other.run({"echo", "alive"}), "alive\n");
}

TEST(OlderAgents, OfAnotherFakeHostStay) {
  AgentProcess other(of_job("fakes", {"DLAUNCH_FAKE_HOST=host1"}));
  AgentProcess own(of_job("fakes", {"DLAUNCH_FAKE_HOST=host2"}));
  stop(own);
  const auto sweeper = sweep(of_job("fakes", {"DLAUNCH_FAKE_HOST=host2"}));
  EXPECT_FALSE(alive(own.worker()));
  EXPECT_EQ(other.run({"echo", "alive"}), "alive\n");
}

TEST(OlderAgents, NewerAgentsStay) {
  const AgentOptions options = of_job("newer");
  AgentProcess sweeper(options);
  AgentProcess newer(options);
  sweeper.send(wire::Sweep{});
  ASSERT_TRUE(sweeper.until([&] { return sweeper.clean.has_value(); }));
  EXPECT_EQ(newer.run({"echo", "alive"}), "alive\n");
}

/// Another user can pass such a file to any process, for example in a queue of a socket.
TEST(OlderAgents, ProcessWithTheTagOfAnotherUserStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  const AgentOptions options = of_job("forged");
  AgentProcess agent(options);
  std::string tag;
  for (const auto& each : std::filesystem::directory_iterator("/proc/" + std::to_string(agent.worker()) + "/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(each, ignored).string().find("memfd:dlaunch-agent-tag") != std::string::npos)
      tag = each.path().string();
  }
  ASSERT_NE(tag, "");
  sys::Fd real(::open(tag.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(4096, '\0');
  text.resize(static_cast<size_t>(::read(real.get(), text.data(), text.size())));
  real.reset();  // the children of this process would have the tag, too
  ASSERT_TRUE(text.starts_with("forged\n"));
  for (const uid_t owner : {uid_t{65534}, uid_t{0}}) {
    const sys::Fd forged(::memfd_create("dlaunch-agent-tag", MFD_CLOEXEC));
    ASSERT_EQ(::write(forged.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ASSERT_EQ(::fchown(forged.get(), owner, owner), 0);
    const int victim = ::fork();
    if (victim == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::prctl(PR_SET_NAME, "dlaunch-agent");
      for (;;) ::pause();
    }
    ASSERT_TRUE(until([&] { return sys::find_process(victim)->name == "dlaunch-agent"; }));
    const auto sweeper = sweep(options);
    int status = 0;
    EXPECT_EQ(::waitpid(victim, &status, owner == 0 ? 0 : WNOHANG) == victim, owner == 0);
    if (owner == 0) continue;
    ::kill(victim, SIGKILL);
    ::waitpid(victim, &status, 0);
  }
}

}  // namespace
}  // namespace dlaunch::agent
