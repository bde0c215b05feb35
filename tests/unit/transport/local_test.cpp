// The end of a local agent, and of the orphans that it leaves.
#include "transport/local.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "sys/descendants.h"

namespace dlaunch::transport {
namespace {

constexpr std::chrono::seconds kGrace{2};

/// A process of the job that ignores TERM.
pid_t stubborn_rank(const std::string& job_id) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const std::string mark = "DLAUNCH_JOB_ID=" + job_id;
  const char* const environment[] = {mark.c_str(), "PATH=/usr/bin:/bin", nullptr};
  ::execle("/bin/sh", "sh", "-c", "trap '' TERM; exec sleep 100", nullptr, environment);
  ::_exit(1);
}

/// The time of close() after the agent has ended, and another part of the process has reaped the agent with `status`.
Clock::duration time_of_close(std::optional<int> status) {
  const std::string job_id = "local-test";
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  Local local(job_id, kGrace, files, [](const std::string&) {});
  plan::Host host;
  host.local = true;
  auto connection = local.open(host);
  EXPECT_TRUE(connection);
  const auto children = sys::descendants();
  const auto agent = std::ranges::find(children, ::getpid(), &sys::Process::parent);
  EXPECT_NE(agent, children.end());
  if (agent == children.end()) return {};
  connection->stream.reset();  // the agent ends with its link
  ::waitpid(agent->pid, nullptr, 0);
  if (status) local.reaped(agent->pid, *status);
  const pid_t rank = stubborn_rank(job_id);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the shell sets its trap
  const auto start = Clock::now();
  local.close();
  const auto took = Clock::now() - start;
  ::waitpid(rank, nullptr, 0);
  return took;
}

TEST(Local, KillsOrphansAtOnceAfterAnAgentThatReportedThem) { EXPECT_LT(time_of_close(0), std::chrono::seconds(1)); }

TEST(Local, GivesTheOrphansOfAKilledAgentTheirGrace) {
  EXPECT_GE(time_of_close(SIGKILL), kGrace);
  EXPECT_GE(time_of_close(std::nullopt), kGrace);
}

}  // namespace
}  // namespace dlaunch::transport
