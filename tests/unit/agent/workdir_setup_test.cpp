// Rank directories: created, emptied only if dlaunch created them, never taken from another user, and filled with
// staged files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "agent/rank_dirs.h"
#include "agent_process.h"
#include "sys/descendants.h"
#include "wire/archive.h"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Kind = wire::ArchiveItem::Kind;

class Prepare : public testing::Test {
 protected:
  Prepare() {
    std::string name = testing::TempDir() + "prepare-XXXXXX";
    base = ::mkdtemp(name.data());
  }
  ~Prepare() override { fs::remove_all(base); }

  wire::Prepare asked(int ranks = 2) const {
    wire::Prepare prepare;
    for (int rank = 0; rank < ranks; ++rank) {
      prepare.dirs.push_back(base + "/d" + std::to_string(rank));
      prepare.bases.push_back(base);
    }
    return prepare;
  }
  /// The agent's next answer.
  static wire::Prepared answer(AgentProcess& agent, const wire::Message& message) {
    const size_t before = agent.prepared.size();
    agent.send(message);
    EXPECT_TRUE(agent.until([&] { return agent.prepared.size() > before; }));
    return agent.prepared.back();
  }
  /// The agent's last answer.
  static wire::Prepared prepare(AgentProcess& agent, const wire::Prepare& what) {
    const wire::Prepared taken = answer(agent, what);
    return taken.why.empty() ? answer(agent, wire::Stage{"", true}) : taken;
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(base + '/' + name).parent_path());
    std::ofstream(base + '/' + name) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(base + '/' + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> in(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(base + '/' + name)) names.push_back(entry.path().filename());
    return names;
  }

  std::string base;
};

TEST_F(Prepare, CreatesDirectoriesWithTheirParents) {
  AgentProcess agent;
  wire::Prepare what = asked(1);
  what.dirs = {base + "/runs/a/0"};
  EXPECT_EQ(prepare(agent, what), wire::Prepared{});
  EXPECT_THAT(in("runs/a/0"), UnorderedElementsAre(kRankDirMarker));
}

TEST_F(Prepare, EmptiesOnlyDirectoriesWithAMarker) {
  write("outside/keep", "precious");
  {
    AgentProcess agent;
    EXPECT_EQ(prepare(agent, asked()), wire::Prepared{});
  }
  write("d0/a/b/c", "old");
  fs::create_symlink(base + "/outside", base + "/d0/link");
  AgentProcess agent;
  EXPECT_EQ(prepare(agent, asked()), wire::Prepared{});
  EXPECT_THAT(in("d0"), UnorderedElementsAre(kRankDirMarker));
  EXPECT_EQ(read("outside/keep"), "precious");
}

TEST_F(Prepare, RejectsDirectoriesOfOthers) {
  {
    AgentProcess agent;
    EXPECT_EQ(prepare(agent, asked(1)), wire::Prepared{});
  }
  write("d0/old", "old");
  write("d1/theirs", "precious");
  AgentProcess agent;
  EXPECT_THAT(prepare(agent, asked()).why, HasSubstr("d1 is not empty, and --rank-dir did not create it"));
  EXPECT_EQ(read("d1/theirs"), "precious");
  EXPECT_EQ(read("d0/old"), "old");  // all directories are checked before the first change
}

TEST_F(Prepare, AcceptsAnEmptyDirectoryAndRejectsAFile) {
  fs::create_directory(base + "/d0");
  write("d1", "a file");
  AgentProcess agent;
  EXPECT_THAT(prepare(agent, asked()).why, HasSubstr("d1 is not a directory"));
  EXPECT_EQ(prepare(agent, asked(1)), wire::Prepared{});
}

TEST_F(Prepare, KeepsTheLaunchersFiles) {
  {
    AgentProcess agent;
    EXPECT_EQ(prepare(agent, asked(1)), wire::Prepared{});
  }
  write("d0/log", "just begun");
  write("d0/logs/out", "just begun");
  write("d0/logs/old", "old");
  write("d1/log", "just begun");  // a new file of the launcher
  wire::Prepare what = asked();
  what.kept = {base + "/d0/log", base + "/d0/logs/out", base + "/d1/log"};
  AgentProcess agent;
  EXPECT_EQ(prepare(agent, what), wire::Prepared{});
  EXPECT_THAT(in("d0"), UnorderedElementsAre(kRankDirMarker, "log", "logs"));
  EXPECT_THAT(in("d0/logs"), UnorderedElementsAre("out"));
  EXPECT_THAT(in("d1"), UnorderedElementsAre(kRankDirMarker, "log"));
}

TEST_F(Prepare, AllowsOneJobAtATime) {
  AgentProcess first;
  EXPECT_EQ(prepare(first, asked(1)), wire::Prepared{});
  write("d0/result", "precious");
  AgentProcess second;
  EXPECT_THAT(prepare(second, asked(1)).why, HasSubstr("a running job uses this directory"));
  EXPECT_EQ(read("d0/result"), "precious");
}

TEST_F(Prepare, LaterRoundKeepsFilledDirectoriesAndUnlocksUnused) {
  AgentProcess agent;
  EXPECT_EQ(prepare(agent, asked()), wire::Prepared{});
  write("d0/result", "precious");
  write("d1/result", "precious");
  wire::Prepare next = asked();
  next.dirs = {base + "/d1", base + "/d2"};
  next.later = true;
  EXPECT_EQ(prepare(agent, next), wire::Prepared{});
  EXPECT_THAT(in("d1"), UnorderedElementsAre(kRankDirMarker, "result"));
  EXPECT_THAT(in("d2"), UnorderedElementsAre(kRankDirMarker));
  AgentProcess other;
  wire::Prepare one = asked(1);
  for (const char* const used : {"/d1", "/d2"}) {
    one.dirs = {base + used};
    EXPECT_THAT(answer(other, one).why, HasSubstr("a running job uses this directory")) << used;
  }
  one.dirs = {base + "/d0"};
  EXPECT_EQ(answer(other, one), wire::Prepared{});
}

TEST_F(Prepare, LaterRoundWaitsForAnotherHostOfTheJob) {
  for (const bool closed : {false, true}) {
    AgentProcess first;
    EXPECT_EQ(prepare(first, asked(1)), wire::Prepared{});
    write("d0/result", "precious");
    if (closed) ::chmod((base + "/d0").c_str(), 0);
    AgentProcess second;
    wire::Prepare later = asked(1);
    later.later = true;
    second.send(later);
    second.listen(std::chrono::milliseconds(200));
    EXPECT_TRUE(second.prepared.empty());
    wire::Prepare elsewhere = asked(1);
    elsewhere.dirs = {base + "/other"};
    elsewhere.later = true;
    EXPECT_EQ(answer(first, elsewhere), wire::Prepared{});
    ASSERT_TRUE(second.until([&] { return !second.prepared.empty(); }));
    EXPECT_EQ(second.prepared.back(), wire::Prepared{});
    ::chmod((base + "/d0").c_str(), 0755);
    EXPECT_EQ(read("d0/result"), "precious");
  }
}

/// The agent of a frozen host keeps its locks.
TEST_F(Prepare, LaterRoundTakesTheDirectoryOfAFrozenHostOfTheJob) {
  const AtPath at = [](const std::string&) {};
  const auto why = [&](const std::string& job, const wire::Prepare& what, TakenDirs& taken) {
    const auto result = take_rank_dirs(what, job, at, taken, std::chrono::milliseconds(50));
    return result ? "" : to_text(result.error());
  };
  wire::Prepare later = asked(1);
  later.later = true;
  TakenDirs frozen;
  ASSERT_EQ(why("a", asked(1), frozen), "");
  const auto refused = HasSubstr("a running job uses this directory");
  TakenDirs early;
  EXPECT_THAT(why("a", later, early), refused);  // the directory is not filled yet
  mark_filled(frozen.dirs[0], "a");
  write("d0/checkpoint", "precious");
  TakenDirs first_round;
  EXPECT_THAT(why("a", asked(1), first_round), refused);
  TakenDirs spare;
  EXPECT_EQ(why("a", later, spare), "");
  EXPECT_TRUE(is_filled(spare.dirs.at(0), "a"));
  for (const wire::Prepare& what : {asked(1), later}) {
    TakenDirs other;
    EXPECT_THAT(why("b", what, other), refused);
  }
  EXPECT_EQ(read("d0/checkpoint"), "precious");
}

TEST_F(Prepare, LaterRoundLeavesADirectoryThatAnotherJobHasTaken) {
  const AtPath at = [](const std::string&) {};
  const auto takes = [&](const std::string& job, bool is_later, TakenDirs& taken) {
    wire::Prepare what = asked(1);
    what.later = is_later;
    return take_rank_dirs(what, job, at, taken, std::chrono::milliseconds(50)).has_value();
  };
  {
    TakenDirs lost;
    ASSERT_TRUE(takes("a", false, lost));
    mark_filled(lost.dirs[0], "a");
  }
  {
    TakenDirs other;
    ASSERT_TRUE(takes("b", false, other));
    TakenDirs later;
    EXPECT_FALSE(takes("a", true, later));
    undo_rank_dirs(other);
  }
  {
    TakenDirs killed;  // its process did not restore the marker
    ASSERT_TRUE(takes("b", false, killed));
  }
  TakenDirs later;
  ASSERT_TRUE(takes("a", true, later));
  EXPECT_TRUE(is_filled(later.dirs[0], "a"));
  TakenDirs without_lock;
  EXPECT_TRUE(takes("a", true, without_lock));
  mark_unfilled(later.dirs[0]);
  EXPECT_FALSE(is_filled(without_lock.dirs.at(0), "a"));
}

TEST_F(Prepare, ChangesNothingIfAnotherHostRefusesTheJob) {
  {
    AgentProcess agent;
    EXPECT_EQ(prepare(agent, asked(1)), wire::Prepared{});
  }
  write("d0/old", "old");
  fs::create_directory(base + "/d1");
  wire::Prepare what = asked();
  what.dirs.push_back(base + "/new/d2");
  {
    AgentProcess agent;
    EXPECT_EQ(answer(agent, what), wire::Prepared{});
    EXPECT_TRUE(fs::exists(base + "/new/d2"));
    AgentProcess other;
    EXPECT_THAT(answer(other, what).why, HasSubstr("d0: a running job uses this directory"));
    agent.send(wire::Finish{});
    ASSERT_TRUE(agent.until([&] { return agent.clean.has_value(); }));
    EXPECT_TRUE(agent.clean->left.empty());
  }
  EXPECT_EQ(read("d0/old"), "old");
  EXPECT_THAT(in("d1"), testing::IsEmpty());
  EXPECT_FALSE(fs::exists(base + "/new"));
  AgentProcess next;
  EXPECT_EQ(prepare(next, what), wire::Prepared{});
}

TEST_F(Prepare, RemovesTheCommonDirectoryOfTwoHosts) {
  wire::Prepare what = asked(1);
  what.dirs = {base + "/new/runs/d0"};
  AgentProcess first;
  EXPECT_EQ(answer(first, what), wire::Prepared{});
  what.dirs = {base + "/new/runs/d1"};
  AgentProcess second;
  EXPECT_EQ(answer(second, what), wire::Prepared{});
  first.send(wire::Finish{});
  first.listen(std::chrono::milliseconds(100));
  second.send(wire::Finish{});
  ASSERT_TRUE(second.until([&] { return second.clean.has_value(); }));
  ASSERT_TRUE(first.until([&] { return first.clean.has_value(); }));
  EXPECT_FALSE(fs::exists(base + "/new"));
}

TEST_F(Prepare, RemovesWhatItCreatedAfterAFailure) {
  wire::Prepare what = asked();
  what.dirs = {base + "/new/d0", base + "/new/d0/" + kRankDirMarker + "/d1"};
  AgentProcess agent;
  EXPECT_THAT(answer(agent, what).why, HasSubstr("cannot create " + what.dirs[1]));
  EXPECT_FALSE(fs::exists(base + "/new"));
}

TEST_F(Prepare, RequiresTheWorkingDirectory) {
  AgentProcess agent;
  wire::Prepare what = asked(1);
  what.bases = {base + "/nowhere"};
  const wire::Prepared answer = prepare(agent, what);
  EXPECT_THAT(answer.why, HasSubstr("nowhere: No such file or directory"));
  EXPECT_THAT(answer.hint, HasSubstr("--wdir"));
  EXPECT_FALSE(fs::exists(base + "/d0"));
}

TEST_F(Prepare, WritesStagedFilesIntoEachDirectory) {
  const std::string large(3u << 20, 'x');
  std::string archive;
  wire::append_item({Kind::file, 0755, 5, "go.sh"}, archive);
  archive += "hello";
  wire::append_item({Kind::directory, 0500, 0, "conf"}, archive);
  wire::append_item({Kind::file, 0440, large.size(), "conf/large"}, archive);
  archive += large;
  wire::append_item({Kind::link, 0, 5, "link"}, archive);
  archive += "go.sh";
  AgentProcess agent;
  wire::Prepare what = asked();
  what.staged = true;
  agent.send(what);
  std::uint64_t credit = wire::kStageCredit;
  size_t sent = 0;
  while (sent < archive.size()) {
    const size_t size = std::min<size_t>({wire::kMaxOutput, archive.size() - sent, credit + agent.stage_credit - sent});
    if (size == 0) {
      ASSERT_TRUE(agent.until([&] { return credit + agent.stage_credit > sent; }));
      continue;
    }
    agent.send(wire::Stage{archive.substr(sent, size), sent + size == archive.size()});
    sent += size;
  }
  ASSERT_TRUE(agent.until([&] { return agent.prepared.size() == 2; }));
  EXPECT_EQ(agent.prepared.back(), wire::Prepared{});
  for (const std::string dir : {"d0", "d1"}) {
    EXPECT_EQ(read(dir + "/link"), "hello");
    EXPECT_EQ(read(dir + "/conf/large"), large);
    struct stat info{};
    ASSERT_EQ(::stat((base + '/' + dir + "/go.sh").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0700u, 0700u);
  }
  EXPECT_EQ(agent.run({"./go"}, [&](wire::Program&, wire::Spawn& spawn) { spawn.dir = base + "/d0"; }), "");
  EXPECT_THAT(agent.ranks[0].refused->what, HasSubstr("./go (from " + base + "/d0)"));
}

TEST_F(Prepare, KeepsPermissionsWhateverTheUmask) {
  fs::create_directory(base + "/d0");
  fs::create_directory(base + "/d0/logs");  // of the launcher
  ASSERT_EQ(::chmod((base + "/d0/logs").c_str(), 0711), 0);
  write("d0/logs/0", "just begun");
  std::string archive;
  for (const auto& [name, mode] :
       {std::pair{"read-only", 0555u}, {"read-only/closed", 0u}, {"shared", 01777u}, {"logs", 0777u}}) {
    wire::append_item({Kind::directory, mode, 0, name}, archive);
  }
  wire::append_item({Kind::file, 0755, 0, "read-only/run"}, archive);
  AgentOptions options;
  options.before_exec = [] { ::umask(0077); };
  AgentProcess agent(std::move(options));
  wire::Prepare what = asked(1);
  what.staged = true;
  what.kept = {base + "/d0/logs/0"};
  agent.send(what);
  agent.send(wire::Stage{archive, true});
  ASSERT_TRUE(agent.until([&] { return agent.prepared.size() == 2; }));
  EXPECT_EQ(agent.prepared.back(), wire::Prepared{});
  for (const auto& [name, mode] : {std::pair{"read-only", 0555u},
                                   {"read-only/closed", 0u},
                                   {"shared", 01777u},
                                   {"logs", 0711u},
                                   {"read-only/run", 0755u}}) {
    struct stat info{};
    ASSERT_EQ(::stat((base + "/d0/" + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 07777u, mode) << name;
  }
  ::chmod((base + "/d0/read-only").c_str(), 0755);
}

TEST_F(Prepare, ReportsAFailedWrite) {
  std::string archive;
  wire::append_item({Kind::file, 0644, 1, "missing/x"}, archive);
  archive += 'x';
  AgentProcess agent;
  wire::Prepare what = asked(1);
  what.staged = true;
  agent.send(what);
  agent.send(wire::Stage{archive, true});
  ASSERT_TRUE(agent.until([&] { return agent.prepared.size() == 2; }));
  EXPECT_THAT(agent.prepared.back().why, HasSubstr("cannot write " + base + "/d0/missing/x: No such file"));
}

TEST_F(Prepare, IgnoresATermOfTheBatchSystem) {
  AgentProcess agent;
  wire::Prepare what = asked(1);
  what.staged = true;
  agent.send(what);
  const auto preparer = [] {
    const auto all = sys::descendants();
    const auto found = std::ranges::find(all, "dlaunch-files", &sys::Process::name);
    return found == all.end() ? 0 : found->pid;
  };
  for (int tries = 0; preparer() == 0 && tries < 500; ++tries) agent.listen(std::chrono::milliseconds(10));
  ASSERT_NE(preparer(), 0);
  ASSERT_EQ(::kill(preparer(), SIGTERM), 0);
  agent.listen(std::chrono::milliseconds(50));
  agent.send(wire::Stage{"", true});
  ASSERT_TRUE(agent.until([&] { return agent.prepared.size() == 2; }));
  EXPECT_EQ(agent.prepared.back(), wire::Prepared{});
}

TEST_F(Prepare, EndsWithTheJob) {
  AgentProcess agent;
  wire::Prepare what = asked(1);
  what.staged = true;
  agent.send(what);
  agent.listen(std::chrono::milliseconds(50));
  agent.send(wire::Finish{});
  ASSERT_TRUE(agent.until([&] { return agent.clean.has_value(); }));
  EXPECT_TRUE(agent.clean->left.empty());
  EXPECT_TRUE(AgentProcess::nothing_left());
}

TEST_F(Prepare, RankRunsInItsDirectoryAndItsEnvironmentIsSaved) {
  AgentProcess agent;
  EXPECT_EQ(prepare(agent, asked(1)), wire::Prepared{});
  const std::string out = agent.run({"sh", "-c", "pwd -P"}, [&](wire::Program&, wire::Spawn& spawn) {
    spawn.dir = base + "/d0";
    spawn.save_env = true;
    spawn.env = {"MINE=1"};
  });
  EXPECT_EQ(out, fs::canonical(base + "/d0").string() + "\n");
  EXPECT_EQ(read("d0/env.log"), "PATH=/usr/bin:/bin\nMINE=1\n");
  struct stat info{};
  ASSERT_EQ(::stat((base + "/d0/env.log").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

}  // namespace
}  // namespace dlaunch::agent
