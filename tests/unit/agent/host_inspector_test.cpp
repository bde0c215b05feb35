// The facts that a real agent reports about its host.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/resource.h>

#include <cerrno>
#include <chrono>

#include "agent/host_inspector.h"
#include "agent_process.h"

namespace dlaunch::agent {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HostInspectorTest : public testing::Test {
 protected:
  ~HostInspectorTest() override { EXPECT_TRUE(AgentProcess::nothing_left()); }

  wire::HostInfo facts(const wire::QueryHost& query, AgentOptions options = {}) {
    AgentProcess agent(std::move(options));
    agent.send(query);
    EXPECT_TRUE(agent.until([&] { return !agent.facts.empty(); }));
    const wire::HostInfo first = agent.facts.empty() ? wire::HostInfo{} : agent.facts.front();
    agent.send(wire::Finish{});
    EXPECT_TRUE(agent.until([&] { return agent.clean.has_value(); }));
    EXPECT_THAT(agent.facts, SizeIs(1));
    return first;
  }
};

TEST_F(HostInspectorTest, CountsTheUsableCpus) {
  AgentOptions options;
  options.before_exec = [] {
    cpu_set_t all, one;
    ::sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0 && cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    }
    ::sched_setaffinity(0, sizeof one, &one);
    const rlimit files{123, 456};
    ::setrlimit(RLIMIT_NOFILE, &files);
  };
  const auto seen = facts({}, options);
  EXPECT_EQ(seen.cpus, 1u);
  EXPECT_EQ(seen.cpus_from, "affinity mask");
  EXPECT_EQ(seen.open_files, 123);
  EXPECT_THAT(seen.version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(seen.shm_free, Gt(-1));
  EXPECT_THAT(seen.addresses, IsEmpty());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_NEAR(static_cast<double>(seen.time_ns) * 1e-9, std::chrono::duration<double>(now).count(), 60);
}

TEST_F(HostInspectorTest, FindsDirectoriesAndPrograms) {
  wire::QueryHost query;
  query.path = "/usr/bin:/bin";
  query.wdirs = {"/", "/no/such", "/etc/passwd"};
  query.programs = {"sh", "no-such-program", "", "bin/sh"};
  const auto seen = facts(query);
  EXPECT_THAT(seen.wdir_errors, ElementsAre(0, ENOENT, ENOTDIR));
  EXPECT_THAT(seen.programs, ElementsAre(AnyOf("/usr/bin/sh", "/bin/sh"), "", "", "bin/sh"));
  EXPECT_THAT(seen.missing, ElementsAre("", "program \"no-such-program\": not found in PATH", "", ""));
  EXPECT_THAT(seen.program_errors, ElementsAre(0, ENOENT, 0, 0));
}

TEST_F(HostInspectorTest, FindsScriptsLikeTheirInterpreters) {
  wire::QueryHost query;
  query.path = "/no/such:/usr/bin";
  query.wdirs = {"/etc", "/", "/", "/etc", "/etc", "/"};
  query.scripts = {"passwd", "no/such.py", "env", "env", "", "etc"};
  query.in_path = {0, 0, 0, 1, 0, 0};
  const auto seen = facts(query);
  EXPECT_THAT(seen.scripts, ElementsAre("/etc/passwd", "", "", "/usr/bin/env", "", ""));
  EXPECT_THAT(seen.script_errors, ElementsAre(0, ENOENT, ENOENT, 0, 0, EISDIR));
}

TEST_F(HostInspectorTest, ResolvesNamesWithTheHostsGetent) {
  wire::QueryHost query;
  query.names = {"localhost", "no-such-name.invalid", "-s", "127.0.0.9"};
  const auto seen = facts(query);
  ASSERT_EQ(seen.unresolved, "");
  EXPECT_THAT(seen.addresses, ElementsAre(AnyOf(HasSubstr("127.0.0.1"), HasSubstr("::1")), "", "", "127.0.0.9"));
}

TEST_F(HostInspectorTest, ResolvesManyNames) {
  wire::QueryHost query;
  for (int i = 1; i < 40; ++i) query.names.push_back("127.0.0." + std::to_string(i));
  EXPECT_EQ(facts(query).addresses, query.names);
}

TEST_F(HostInspectorTest, ReportsAMissingGetent) {
  wire::QueryHost query;
  query.names = {"localhost"};
  AgentOptions options;
  options.login = {"PATH=/no/such"};
  const auto seen = facts(query, options);
  EXPECT_EQ(seen.unresolved, "program \"getent\": not found");
  EXPECT_THAT(seen.addresses, ElementsAre(""));
}

TEST_F(HostInspectorTest, RanksStartAfterAQuery) {
  AgentProcess agent;
  wire::QueryHost query;
  query.names = {"localhost"};
  agent.send(query);
  EXPECT_EQ(agent.run({"sh", "-c", "echo hi"}), "hi\n");
}

TEST(Addresses, AreListedOnce) {
  EXPECT_EQ(addresses_in("10.0.0.1   STREAM node1\n10.0.0.1   DGRAM\n::1  STREAM\n::1 RAW \n"), "10.0.0.1 ::1");
  EXPECT_EQ(addresses_in(""), "");
}

}  // namespace
}  // namespace dlaunch::agent
