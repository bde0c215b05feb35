#include "sys/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "sys/io.h"

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

TEST_F(Files, CreateFileCreatesTheParents) {
  EXPECT_TRUE(create_file(directory_ + "/a/b/file"));
  EXPECT_TRUE(std::filesystem::is_regular_file(directory_ + "/a/b/file"));
  EXPECT_TRUE(create_file(directory_ + "/file"));
  EXPECT_FALSE(create_file(directory_ + "/file/a"));
  EXPECT_EQ(errno, ENOTDIR);
  EXPECT_FALSE(create_file(directory_ + "/a/"));
  EXPECT_EQ(errno, EISDIR);
}

TEST_F(Files, CreateFileWorksWhileAnotherProcessRemovesEmptyDirectories) {
  std::atomic<bool> ends = false;
  std::thread remover([&] {
    while (!ends) {
      for (const char* const directory : {"/a/b", "/a"}) ::rmdir((directory_ + directory).c_str());
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  int created = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string path = directory_ + "/a/b/file";
    created += create_file(path) ? 1 : 0;
    std::filesystem::remove(path);
  }
  ends = true;
  remover.join();
  EXPECT_EQ(created, 200);
}

TEST_F(Files, CreateFileOpensDescriptorsAndDevices) {
  const Pipe pipe = make_pipe();
  const std::string number = std::to_string(pipe.write.get());
  EXPECT_TRUE(create_file("/dev/fd/" + number));
  EXPECT_TRUE(create_file("/proc/self/fd/" + number));
  EXPECT_TRUE(create_file("/dev/null"));
}

TEST_F(Files, CreateFileFollowsLinksOfThisUser) {
  std::filesystem::create_directory(directory_ + "/a");
  std::filesystem::create_symlink("a", directory_ + "/b");
  std::filesystem::create_symlink("../c/file", directory_ + "/a/link");
  std::filesystem::create_directory(directory_ + "/c");
  EXPECT_TRUE(create_file(directory_ + "/b/link"));
  EXPECT_TRUE(std::filesystem::is_regular_file(directory_ + "/c/file"));
}

TEST_F(Files, CreateFileFollowsNoLinkInADirectoryForAllUsers) {
  const std::string shared = directory_ + "/shared";
  std::filesystem::create_directories(directory_ + "/private");
  std::filesystem::create_directory(shared);
  std::filesystem::permissions(shared, std::filesystem::perms::all);
  std::filesystem::create_symlink(directory_ + "/private/file", shared + "/file");
  std::filesystem::create_symlink(directory_ + "/private", shared + "/logs");
  for (const char* name : {"/file", "/logs/file", "/logs/new/file"}) {
    EXPECT_FALSE(create_file(shared + name)) << name;
    EXPECT_EQ(errno, ELOOP) << name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_ + "/private"));
}

}  // namespace
}  // namespace dlaunch::sys
