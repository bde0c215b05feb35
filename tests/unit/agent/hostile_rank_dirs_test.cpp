// Rank directories in a tree that another user may write to: this user exchanges directories and links, and dlaunch
// changes no file outside of the rank directories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/rank_dirs.h"
#include "agent_process.h"
#include "wire/archive.h"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Kind = wire::ArchiveItem::Kind;

constexpr uid_t kOther = 65534;
constexpr mode_t kForAll = 0777;
constexpr const char* kOnlyRoot = "only root can give a file to another user";

class HostileRankDirs : public testing::Test {
 protected:
  HostileRankDirs() {
    std::string name = testing::TempDir() + "hostile-XXXXXX";
    base = ::mkdtemp(name.data());
    shared = base + "/shared";
    fs::create_directory(shared);
    ::chmod(shared.c_str(), kForAll);
    elsewhere = base + "/elsewhere";
    fs::create_directory(elsewhere);
  }
  ~HostileRankDirs() override { fs::remove_all(base); }

  wire::Prepare asked(const std::string& dir) const {
    wire::Prepare prepare;
    prepare.dirs = {dir};
    prepare.bases = {base};
    return prepare;
  }
  /// The agent's answer.
  static wire::Prepared answer(AgentProcess& agent, const wire::Message& message) {
    const size_t before = agent.prepared.size();
    agent.send(message);
    EXPECT_TRUE(agent.until([&] { return agent.prepared.size() > before; }));
    return agent.prepared.empty() ? wire::Prepared{"no answer", ""} : agent.prepared.back();
  }
  static wire::Prepared prepare(AgentProcess& agent, const wire::Prepare& what) {
    const wire::Prepared taken = answer(agent, what);
    return taken.why.empty() ? answer(agent, wire::Stage{"", true}) : taken;
  }
  wire::Prepared prepare(const std::string& dir) const {
    AgentProcess agent;
    return prepare(agent, asked(dir));
  }
  /// A directory of an earlier job, with a file of its rank.
  std::string earlier(const std::string& dir) const {
    EXPECT_EQ(prepare(dir), wire::Prepared{});
    return write(dir + "/result");
  }
  static std::string write(const std::string& path) {
    std::ofstream(path) << "precious";
    return path;
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string base;
  std::string shared;     // writable by all users, without the sticky bit
  std::string elsewhere;  // private
};

TEST_F(HostileRankDirs, FollowNoLinkInADirectoryForAllUsers) {
  const std::string result = earlier(elsewhere + "/d0");
  const std::string deep = earlier(elsewhere + "/a/b/d0");
  fs::create_symlink(elsewhere + "/d0", shared + "/d0");
  fs::create_symlink(elsewhere, shared + "/run");
  for (const char* name : {"/d0", "/run/d0", "/run/a/b/d0"}) {
    EXPECT_THAT(prepare(shared + name).why, HasSubstr("symbolic link")) << name;
  }
  EXPECT_EQ(read(result), "precious");
  EXPECT_EQ(read(deep), "precious");
}

TEST_F(HostileRankDirs, CreateNothingBehindALink) {
  fs::create_symlink(elsewhere, shared + "/run");
  EXPECT_THAT(prepare(shared + "/run/new/d0").why, HasSubstr("symbolic link"));
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(HostileRankDirs, FollowALinkOfThisUser) {
  const std::string result = earlier(elsewhere + "/d0");
  fs::create_symlink(elsewhere, base + "/run");
  EXPECT_EQ(prepare(base + "/run/d0"), wire::Prepared{});
  EXPECT_FALSE(fs::exists(result));
}

TEST_F(HostileRankDirs, FollowNoLinkOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << kOnlyRoot;
  const std::string result = earlier(elsewhere + "/d0");
  fs::create_symlink(elsewhere, base + "/run");
  ASSERT_EQ(::lchown((base + "/run").c_str(), kOther, kOther), 0);
  EXPECT_THAT(prepare(base + "/run/d0").why, HasSubstr("symbolic link"));
  EXPECT_EQ(read(result), "precious");
}

TEST_F(HostileRankDirs, RejectADirectoryOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << kOnlyRoot;
  const std::string result = earlier(base + "/d0");
  ASSERT_EQ(::chown((base + "/d0").c_str(), kOther, kOther), 0);
  EXPECT_THAT(prepare(base + "/d0").why, HasSubstr("d0 belongs to another user"));
  fs::create_directory(base + "/empty");
  ASSERT_EQ(::chown((base + "/empty").c_str(), kOther, kOther), 0);
  EXPECT_THAT(prepare(base + "/empty").why, HasSubstr("empty belongs to another user"));
  EXPECT_EQ(read(result), "precious");
}

TEST_F(HostileRankDirs, RejectAMarkerOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << kOnlyRoot;
  const std::string result = earlier(base + "/d0");
  ASSERT_EQ(::chown((base + "/d0/" + kRankDirMarker).c_str(), kOther, kOther), 0);
  EXPECT_THAT(prepare(base + "/d0").why, HasSubstr(std::string(kRankDirMarker) + " belongs to another user"));
  EXPECT_EQ(read(result), "precious");
}

TEST_F(HostileRankDirs, RejectAMarkerThatOtherUsersCanWrite) {
  const std::string result = earlier(base + "/d0");
  ASSERT_EQ(::chmod((base + "/d0/" + kRankDirMarker).c_str(), 0666), 0);
  EXPECT_THAT(prepare(base + "/d0").why, HasSubstr("other users can write to "));
  EXPECT_EQ(read(result), "precious");
}

TEST_F(HostileRankDirs, RejectAHardLinkAsMarker) {
  earlier(base + "/d1");
  fs::create_directory(base + "/d0");
  const std::string file = write(base + "/d0/file");
  fs::create_hard_link(base + "/d1/" + kRankDirMarker, base + "/d0/" + kRankDirMarker);
  EXPECT_THAT(prepare(base + "/d0").why, HasSubstr("is a hard link"));
  EXPECT_EQ(read(file), "precious");
}

TEST_F(HostileRankDirs, RejectALinkOrADirectoryAsMarker) {
  earlier(base + "/d1");
  fs::create_directory(base + "/d0");
  const std::string file = write(base + "/d0/file");
  fs::create_symlink(base + "/d1/" + kRankDirMarker, base + "/d0/" + kRankDirMarker);
  EXPECT_THAT(prepare(base + "/d0").why, HasSubstr("symbolic link"));
  fs::remove(base + "/d0/" + kRankDirMarker);
  fs::create_directory(base + "/d0/" + kRankDirMarker);
  EXPECT_NE(prepare(base + "/d0").why, "");
  EXPECT_EQ(read(file), "precious");
}

TEST_F(HostileRankDirs, RejectADirectoryThatAllUsersCanWrite) {
  const std::string result = earlier(base + "/d0");
  ASSERT_EQ(::chmod((base + "/d0").c_str(), kForAll), 0);
  const wire::Prepared answer = prepare(base + "/d0");
  EXPECT_THAT(answer.why, HasSubstr("all users can write to " + base + "/d0"));
  EXPECT_THAT(answer.hint, HasSubstr("chmod o-w"));
  EXPECT_EQ(read(result), "precious");
}

TEST_F(HostileRankDirs, AreNotWritableByAllUsersWithoutUmask) {
  AgentOptions options;
  options.before_exec = [] { ::umask(0); };
  AgentProcess agent(std::move(options));
  EXPECT_EQ(prepare(agent, asked(base + "/a/d0")), wire::Prepared{});
  for (const char* name : {"/a", "/a/d0"}) {
    struct stat info{};
    ASSERT_EQ(::stat((base + name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & S_IWOTH, 0u) << name;
  }
}

TEST_F(HostileRankDirs, AreEmptiedWithoutFollowingLinks) {
  const std::string file = write(elsewhere + "/file");
  earlier(shared + "/d0");
  fs::create_directories(shared + "/d0/a/b");
  for (const char* name : {"/link", "/a/link", "/a/b/link"}) fs::create_symlink(elsewhere, shared + "/d0" + name);
  EXPECT_EQ(prepare(shared + "/d0"), wire::Prepared{});
  EXPECT_FALSE(fs::exists(shared + "/d0/a"));
  EXPECT_EQ(read(file), "precious");
}

TEST_F(HostileRankDirs, StagedDirectoryIsNotALink) {
  earlier(shared + "/d0");
  AgentProcess agent;
  wire::Prepare what = asked(shared + "/d0");
  what.staged = true;
  ASSERT_EQ(answer(agent, what), wire::Prepared{});
  agent.send(wire::Stage{"", false});
  ASSERT_TRUE(until([&] { return !fs::exists(shared + "/d0/result"); }));
  fs::create_symlink(elsewhere, shared + "/d0/conf");
  std::string archive;
  wire::append_item({Kind::directory, 0755, 0, "conf"}, archive);
  wire::append_item({Kind::file, 0644, 1, "conf/x"}, archive);
  archive += 'x';
  agent.send(wire::Stage{archive, true});
  ASSERT_TRUE(agent.until([&] { return agent.prepared.size() == 2; }));
  EXPECT_THAT(agent.prepared.back().why, HasSubstr("cannot write " + shared + "/d0/conf"));
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(HostileRankDirs, StagedFilesDoNotFollowAnExchangedDirectory) {
  earlier(shared + "/d0");
  AgentProcess agent;
  wire::Prepare what = asked(shared + "/d0");
  what.staged = true;
  ASSERT_EQ(answer(agent, what), wire::Prepared{});
  agent.send(wire::Stage{"", false});
  ASSERT_TRUE(until([&] { return !fs::exists(shared + "/d0/result"); }));
  fs::rename(shared + "/d0", shared + "/moved");
  fs::create_symlink(elsewhere, shared + "/d0");
  std::string archive;
  wire::append_item({Kind::file, 0644, 1, "x"}, archive);
  archive += 'x';
  agent.send(wire::Stage{archive, true});
  ASSERT_TRUE(agent.until([&] { return agent.prepared.size() == 2; }));
  EXPECT_TRUE(fs::is_empty(elsewhere));
  EXPECT_EQ(read(shared + "/moved/x"), "x");
}

TEST_F(HostileRankDirs, RankStartsInItsDirectoryAfterAnExchange) {
  AgentProcess agent;
  EXPECT_EQ(prepare(agent, asked(shared + "/d0")), wire::Prepared{});
  fs::rename(shared + "/d0", shared + "/moved");
  fs::create_symlink(elsewhere, shared + "/d0");
  const std::string saved = write(elsewhere + "/env.log");
  const std::string out = agent.run({"sh", "-c", "pwd -P; touch started"}, [&](wire::Program&, wire::Spawn& spawn) {
    spawn.dir = shared + "/d0";
    spawn.save_env = true;
  });
  EXPECT_EQ(out, fs::canonical(shared + "/moved").string() + "\n");
  EXPECT_EQ(read(saved), "precious");
  EXPECT_FALSE(fs::exists(elsewhere + "/started"));
  EXPECT_TRUE(fs::exists(shared + "/moved/env.log"));
}

}  // namespace
}  // namespace dlaunch::agent
