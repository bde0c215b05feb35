#include "sys/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace dlaunch::sys {
namespace {

class Files : public testing::Test {
 protected:
  Files() {
    std::string name = "/tmp/dlaunch-files.XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  ~Files() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

TEST_F(Files, MakeDirectoriesCreatesTheParentsWithTheMode) {
  const std::string deepest = directory_ + "/a/b/c";
  EXPECT_EQ(make_directories(deepest, S_IRWXU), 0);
  for (const char* name : {"/a", "/a/b", "/a/b/c"}) {
    struct stat status{};
    ASSERT_EQ(::stat((directory_ + name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode, S_IFDIR | S_IRWXU) << name;
  }
  EXPECT_EQ(make_directories(deepest, S_IRWXU), 0);
}

TEST_F(Files, MakeDirectoriesReturnsTheErrorOfTheFirstMissingDirectory) {
  std::ofstream(directory_ + "/file");
  EXPECT_EQ(make_directories(directory_ + "/file/a/b", S_IRWXU), ENOTDIR);
  EXPECT_EQ(make_directories(directory_ + '/' + std::string(256, 'x') + "/a", S_IRWXU), ENAMETOOLONG);
  EXPECT_EQ(make_directories("", S_IRWXU), ENOENT);
}

TEST_F(Files, CreateFileCreatesTheParents) {
  EXPECT_TRUE(create_file(directory_ + "/a/b/file"));
  EXPECT_TRUE(std::filesystem::is_regular_file(directory_ + "/a/b/file"));
  EXPECT_TRUE(create_file(directory_ + "/file"));
  EXPECT_FALSE(create_file(directory_ + "/file/a"));
  EXPECT_EQ(errno, ENOTDIR);
}

}  // namespace
}  // namespace dlaunch::sys
