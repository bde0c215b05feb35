// Files that a real agent creates for its ranks, and removes.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "agent_process.h"

namespace dlaunch::agent {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class FilesTest : public testing::Test {
 protected:
  ~FilesTest() override { EXPECT_TRUE(AgentProcess::nothing_left()); }

  static std::string show(const std::string& then = "") {
    return "echo \"$TABLE\"; cat \"$TABLE\"; stat -c '%a' \"$TABLE\" \"$(dirname \"$TABLE\")\"; " + then;
  }
  static std::string path_in(const std::string& out) { return out.substr(0, out.find('\n')); }
};

TEST_F(FilesTest, AreReadableOnlyByTheOwnerAndAreRemoved) {
  std::string path;
  {
    AgentProcess agent;
    agent.send(wire::JobFile{"t.json", "TABLE", "{}\n"});
    const std::string out = agent.run({"sh", "-c", show()});
    path = path_in(out);
    EXPECT_THAT(out, EndsWith("/t.json\n{}\n600\n700\n"));
    EXPECT_TRUE(std::filesystem::exists(path));
    agent.send(wire::Finish{});
    EXPECT_TRUE(agent.until([&] { return agent.clean.has_value(); }));
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));  // at the time of Clean
    EXPECT_EQ(agent.wait_exit(), 0);
  }
}

TEST_F(FilesTest, KeepsTheProgramsVariable) {
  AgentProcess agent;
  agent.send(wire::JobFile{"t.json", "TABLE", "{}"});
  const std::string out = agent.run({"sh", "-c", "echo $TABLE"}, [](wire::Program& program, wire::Spawn&) {
    program.env.emplace_back("TABLE=mine");
  });
  EXPECT_EQ(out, "mine\n");
  agent.close_link();  // the agent removes its directory; a killed agent could not
  agent.wait_exit();
}

TEST_F(FilesTest, AreRemovedAfterALostLauncherAndAKilledWorker) {
  for (const bool killed : {false, true}) {
    AgentProcess agent;
    agent.send(wire::JobFile{"t.json", "TABLE", "{}"});
    const std::string path = path_in(agent.run({"sh", "-c", "echo $TABLE"}));
    ASSERT_TRUE(std::filesystem::exists(path));
    if (killed) {
      ::kill(agent.worker(), SIGKILL);
    } else {
      agent.close_link();
    }
    agent.wait_exit();
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path())) << killed;
  }
}

TEST_F(FilesTest, AreRemovedByAnotherAgentAfterBothProcessesWereKilled) {
  std::string temporary = testing::TempDir() + "dlaunch-files-XXXXXX";
  ASSERT_TRUE(::mkdtemp(temporary.data()));
  const std::filesystem::path others = std::filesystem::path(temporary) / "dlaunch-another-1";
  std::filesystem::create_directory(others);
  std::filesystem::create_directory_symlink(others, temporary + "/dlaunch-killed-link");
  AgentOptions options{.login = {"TMPDIR=" + temporary}};
  options.setup.job_id = "killed";
  std::string path;
  {
    AgentProcess agent(options);
    agent.send(wire::JobFile{"t.json", "TABLE", "{}"});
    path = path_in(agent.run({"sh", "-c", "echo $TABLE"}));
    ::kill(agent.guardian(), SIGSTOP);
    ::kill(agent.worker(), SIGKILL);
    ::kill(agent.guardian(), SIGKILL);
    agent.wait_exit();
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  {
    AgentProcess next(options);
    next.send(wire::Sweep{});
    EXPECT_TRUE(next.until([&] { return next.clean.has_value(); }));
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
    EXPECT_TRUE(std::filesystem::exists(others)) << "it is of another job";
    EXPECT_EQ(next.wait_exit(), 0);
  }
  std::filesystem::remove_all(temporary);
}

TEST_F(FilesTest, FailedWritePreventsTheStart) {
  AgentProcess agent({.login = {"TMPDIR=/nowhere/at/all"}});
  agent.send(wire::JobFile{"t.json", "TABLE", "{}"});
  agent.run({"true"});
  ASSERT_TRUE(agent.ranks[0].refused);
  EXPECT_EQ(agent.ranks[0].refused->error, static_cast<std::uint32_t>(ENOENT));
  EXPECT_THAT(agent.ranks[0].refused->what, HasSubstr("/nowhere/at/all/dlaunch-"));
}

TEST_F(FilesTest, RejectsANameWithADirectory) {
  for (const char* name : {"", ".", "..", "../t.json", "a/b", "/etc/t"}) {
    AgentProcess agent;
    agent.send(wire::JobFile{name, "TABLE", "{}"});
    agent.run({"true"});
    ASSERT_TRUE(agent.ranks[0].refused) << name;
    EXPECT_EQ(agent.ranks[0].refused->error, static_cast<std::uint32_t>(EINVAL)) << name;
  }
}

}  // namespace
}  // namespace dlaunch::agent
