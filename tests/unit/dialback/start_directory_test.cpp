#include "dialback/start_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace dlaunch::dialback {
namespace {

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

TEST_F(StartDirectoryTest, IsItsOwnersAloneAndGoes) {
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

TEST_F(StartDirectoryTest, IsNotMadeWhereOthersMayExchangeIt) {
  ASSERT_EQ(::chmod(home_.c_str(), 0770), 0);
  const auto made = StartDirectory::make(home_ + "/a", "nonce");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().why, testing::HasSubstr("others may write to " + home_));
  EXPECT_FALSE(std::filesystem::exists(home_ + "/a/start-nonce"));
  ASSERT_EQ(::chmod(home_.c_str(), 01777), 0);
  EXPECT_TRUE(StartDirectory::make(home_ + "/a", "nonce")) << "sticky, as /tmp";
}

TEST_F(StartDirectoryTest, ALinkIsNoFile) {
  auto made = StartDirectory::make(home_, "nonce");
  ASSERT_TRUE(made);
  ASSERT_EQ(::symlink("/etc/passwd", (made->path() + "/said.n1").c_str()), 0);
  EXPECT_EQ(made->read("said.n1"), "");
  EXPECT_FALSE(made->write("said.n1", "x"));
}

TEST_F(StartDirectoryTest, NeedsAHome) { EXPECT_FALSE(StartDirectory::make("", "nonce")); }

}  // namespace
}  // namespace dlaunch::dialback
