#include "report/write_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dlaunch::report {
namespace {

namespace fs = std::filesystem;

class WriteFile : public testing::Test {
 protected:
  WriteFile() {
    std::string pattern = fs::temp_directory_path() / "dlaunch-report-XXXXXX";
    directory = ::mkdtemp(pattern.data());
  }
  ~WriteFile() override { fs::remove_all(directory); }
  static std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  long files() const { return std::distance(fs::directory_iterator(directory), fs::directory_iterator()); }
  fs::path directory;
};

TEST_F(WriteFile, CreatesAndReplaces) {
  const std::string path = directory / "r.json";
  ASSERT_TRUE(write_file_atomically(path, "one, and longer"));
  ASSERT_TRUE(write_file_atomically(path, "two"));
  EXPECT_EQ(content(path), "two");
  EXPECT_EQ(files(), 1);
}

TEST_F(WriteFile, FollowsNoLinkInADirectoryForAllUsers) {
  const fs::path shared = directory / "shared";
  fs::create_directories(directory / "private");
  std::ofstream(directory / "private/r") << "precious";
  fs::create_directory(shared);
  fs::permissions(shared, fs::perms::all);
  fs::create_symlink("../private/r", shared / "r");
  fs::create_symlink("../private", shared / "directory");
  EXPECT_FALSE(write_file_atomically(shared / "r", "record"));
  EXPECT_FALSE(write_file_atomically(shared / "directory/r", "record"));
  EXPECT_FALSE(check_can_write(shared / "directory/r"));
  EXPECT_EQ(content(directory / "private/r"), "precious");
}

TEST_F(WriteFile, HasTheModeMinusTheUmask) {
  const mode_t old = ::umask(027);
  const bool written = write_file_atomically(directory / "r", "x").has_value();
  ::umask(old);
  ASSERT_TRUE(written);
  struct stat facts{};
  ASSERT_EQ(::stat((directory / "r").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777u, 0640u);
}

TEST_F(WriteFile, ExistingFileKeepsItsMode) {
  const auto mode = [&] {
    struct stat facts{};
    EXPECT_EQ(::stat((directory / "r").c_str(), &facts), 0);
    return facts.st_mode & 0777u;
  };
  ASSERT_TRUE(write_file_atomically(directory / "r", "x", {.mode = 0600, .durable = true}));
  EXPECT_EQ(mode(), 0600u);
  ASSERT_EQ(::chmod((directory / "r").c_str(), 0664), 0);
  ASSERT_TRUE(write_file_atomically(directory / "r", "y", {.mode = 0600}));
  EXPECT_EQ(mode(), 0664u);
}

TEST_F(WriteFile, FailureKeepsTheOldFileAndLeavesNoOtherFile) {
  EXPECT_FALSE(write_file_atomically(directory / "no" / "r", "x"));
  fs::create_directory(directory / "d");
  const auto result = write_file_atomically(directory / "d", "x");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what, "cannot write " + (directory / "d").string());
  EXPECT_FALSE(result.error().why.empty());
  EXPECT_EQ(result.error().exit_code, kExitOutput);
  EXPECT_EQ(files(), 1);
}

TEST_F(WriteFile, AWriteThatWasGivenUpLeavesNoFile) {
  const std::string path = directory / "r.json";
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  ASSERT_TRUE(write_file_atomically(path, "one", {.ends = {pipe[0]}}));
  ::close(pipe[1]);
  EXPECT_FALSE(write_file_atomically(path, "two", {.ends = {pipe[0]}}));
  EXPECT_EQ(content(path), "one");
  EXPECT_EQ(files(), 1);
  ::close(pipe[0]);
}

TEST_F(WriteFile, CheckReportsFailuresBeforehand) {
  fs::create_directory(directory / "d");
  EXPECT_TRUE(check_can_write(directory / "new"));
  EXPECT_TRUE(check_can_write("/dev/null"));
  EXPECT_TRUE(check_can_write("here"));
  EXPECT_EQ(check_can_write(directory / "no" / "r").error().why, "No such file or directory");
  EXPECT_EQ(check_can_write(directory / "d").error().why, "Is a directory");
  EXPECT_EQ(check_can_write((directory / "new/").string()).error().why, "Is a directory");
  EXPECT_EQ(files(), 1);
}

TEST_F(WriteFile, WritesThroughALinkInsteadOfReplacingIt) {
  std::ofstream(directory / "real") << "old and longer";
  fs::create_symlink(directory / "real", directory / "link");
  ASSERT_TRUE(write_file_atomically(directory / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(directory / "link"));
  EXPECT_EQ(content(directory / "real"), "new");
}

TEST_F(WriteFile, ReportsAFullDevice) {
  const auto result = write_file_atomically("/dev/full", "x");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().why, "No space left on device");
}

}  // namespace
}  // namespace dlaunch::report
