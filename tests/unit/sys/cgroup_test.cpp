// Directories in place of control groups; tests/e2e/test_hosts_cgroup.py uses real control groups.
#include "sys/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace dlaunch::sys {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Cgroups : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "cgroup-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = name;
    std::filesystem::create_directories(top_ + "/a/b");
    std::filesystem::create_directories(top_ + "/c");
  }
  void TearDown() override {
    std::filesystem::remove_all(top_);
    for (const int pid : children_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

  int child_in(const std::string& group) {
    const int pid = ::fork();
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
    children_.push_back(pid);
    std::ofstream(top_ + group + "/cgroup.procs", std::ios::app) << pid << '\n';
    return pid;
  }

  std::vector<int> found() const {
    std::vector<int> pids;
    for (const Process& process : processes_in(top_)) pids.push_back(process.pid);
    return pids;
  }

  std::string top_;
  std::vector<int> children_;
};

TEST_F(Cgroups, ParentsPrecedeChildren) {
  EXPECT_THAT(cgroups_in(top_), UnorderedElementsAre(top_ + "/a", top_ + "/c"));
  const auto tree = cgroup_tree(top_);
  EXPECT_THAT(tree, UnorderedElementsAre(top_, top_ + "/a", top_ + "/a/b", top_ + "/c"));
  EXPECT_EQ(tree.front(), top_);
  EXPECT_EQ(tree.back(), top_ + "/a/b");
  EXPECT_THAT(cgroup_tree(top_ + "/c"), ElementsAre(top_ + "/c"));
}

TEST_F(Cgroups, ListsProcessesOfAllChildren) {
  EXPECT_THAT(found(), IsEmpty());
  const int one = child_in("/a/b");
  const int other = child_in("/c");
  std::ofstream(top_ + "/cgroup.procs") << "0\n999999999\nnone\n";  // of another process namespace; ended; not a number
  EXPECT_THAT(found(), UnorderedElementsAre(one, other));
}

TEST_F(Cgroups, KillsProcessesWithoutSupportOfTheKernel) {
  const int one = child_in("/a/b");
  const int other = child_in("");
  kill_cgroup(top_);
  for (const int pid : {one, other}) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  children_.clear();
}

TEST_F(Cgroups, IsRemovedWithItsChildren) {
  child_in("/c");
  EXPECT_FALSE(remove_cgroup(top_));  // like a group with a process
  std::filesystem::remove(top_ + "/c/cgroup.procs");
  EXPECT_TRUE(remove_cgroup(top_));
  EXPECT_TRUE(remove_cgroup(top_)) << "it is gone already";
}

}  // namespace
}  // namespace dlaunch::sys
