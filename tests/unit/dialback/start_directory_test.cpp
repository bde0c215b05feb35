#include "dialback/start_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace dlaunch::dialback {
namespace {

using namespace std::chrono_literals;

class StartDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/start-XXXXXX";
    home_ = std::filesystem::canonical(::mkdtemp(name.data()));
  }
  void TearDown() override { std::filesystem::remove_all(home_); }

  mode_t mode_of(const std::string& path) const {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
  }

  std::string home_;
};

TEST_F(StartDirectoryTest, IsPrivateAndRemovedByDestructor) {
  std::string path;
  {
    auto made = StartDirectory::make(home_ + "/a/b", "nonce");
    ASSERT_TRUE(made) << made.error().why;
    path = made->path();
    EXPECT_EQ(path, home_ + "/a/b/start-nonce");
    ASSERT_TRUE(made->write("data", "secret"));
    EXPECT_EQ(mode_of(path), 0700u);
    EXPECT_EQ(mode_of(path + "/data"), 0600u);
    EXPECT_EQ(made->read("data"), "secret");
    EXPECT_EQ(made->read("other"), "");
    EXPECT_FALSE(made->write("data", "again"));
    EXPECT_FALSE(StartDirectory::make(home_ + "/a/b", "nonce")) << "another start has it";
    EXPECT_EQ(made->read("data"), "secret");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(StartDirectoryTest, RefusesParentWritableByOthers) {
  ASSERT_EQ(::chmod(home_.c_str(), 0770), 0);
  const auto made = StartDirectory::make(home_ + "/a", "nonce");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().why, testing::HasSubstr("other users can write to " + home_));
  EXPECT_FALSE(std::filesystem::exists(home_ + "/a/start-nonce"));
  ASSERT_EQ(::chmod(home_.c_str(), 01777), 0);
  EXPECT_TRUE(StartDirectory::make(home_ + "/a", "nonce")) << "sticky, as /tmp";
}

TEST_F(StartDirectoryTest, ReportsWhyParentsCannotBeMade) {
  const auto made = StartDirectory::make("/sys/dlaunch-missing/a/b", "nonce");  // root cannot make directories there
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().why, testing::Not(testing::HasSubstr("No such file")));
}

TEST_F(StartDirectoryTest, DoesNotReadLinks) {
  auto made = StartDirectory::make(home_, "nonce");
  ASSERT_TRUE(made);
  ASSERT_EQ(::symlink("/etc/passwd", (made->path() + "/said.n1").c_str()), 0);
  EXPECT_EQ(made->read("said.n1"), "");
  EXPECT_FALSE(made->write("said.n1", "x"));
}

TEST_F(StartDirectoryTest, RemovesDirectoriesOfKilledOwners) {
  const auto set_age = [&](const std::string& name, std::chrono::minutes age) {
    const timespec then{::time(nullptr) - std::chrono::seconds(age).count(), 0};
    const std::array<timespec, 2> times{then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, (home_ + '/' + name).c_str(), times.data(), AT_SYMLINK_NOFOLLOW), 0) << name;
  };
  const std::vector<std::pair<std::string, std::chrono::minutes>> stay{
      {"start-young", StartDirectory::kAbandonedAfter / 2},
      {"other", 60min},
      {"start-link", 60min},
      {"start-file", 60min}};
  for (const char* name : {"start-old", "start-young", "other"}) std::filesystem::create_directory(home_ + '/' + name);
  for (const char* name : {"start-old/data", "start-young/data", "other/data", "start-file"}) {
    std::ofstream(home_ + '/' + name) << "secret";
  }
  std::filesystem::create_symlink(home_ + "/other", home_ + "/start-link");
  set_age("start-old", 60min);
  for (const auto& [name, age] : stay) set_age(name, age);
  ASSERT_TRUE(StartDirectory::make(home_, "nonce"));
  EXPECT_FALSE(std::filesystem::exists(home_ + "/start-old"));
  for (const auto& [name, age] : stay) EXPECT_TRUE(std::filesystem::exists(home_ + '/' + name)) << name;
  EXPECT_TRUE(std::filesystem::exists(home_ + "/other/data"));
}

TEST_F(StartDirectoryTest, RequiresHome) { EXPECT_FALSE(StartDirectory::make("", "nonce")); }

}  // namespace
}  // namespace dlaunch::dialback
