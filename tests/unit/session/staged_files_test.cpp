#include "session/staged_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "wire/archive.h"

namespace dlaunch::session {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class StagedFiles : public testing::Test {
 protected:
  StagedFiles() {
    std::string name = testing::TempDir() + "staged-XXXXXX";
    top_ = ::mkdtemp(name.data());
    fs::create_directories(top_ + "/shared/conf/deep");
    for (const char* each : {"/shared", "/shared/conf"}) ::chmod((top_ + each).c_str(), 0777);
    fs::create_directory(top_ + "/private");
    std::ofstream(top_ + "/private/key") << "secret";
    std::ofstream(top_ + "/shared/conf/deep/a") << "text";
  }
  ~StagedFiles() override { fs::remove_all(top_); }

  /// "name=content" of each item, "name/" of a directory.
  static std::vector<std::string> packed(const std::string& path) {
    const auto archive = read_staged({path});
    if (!archive) return {"error: " + archive.error().why};
    std::vector<std::string> items;
    wire::ArchiveReader reader({[&](const wire::ArchiveItem& item) {
                                  items.push_back(item.name +
                                                  (item.kind == wire::ArchiveItem::Kind::directory ? "/" : "="));
                                  return Result<void>();
                                },
                                [&](std::string_view bytes) {
                                  items.back() += bytes;
                                  return Result<void>();
                                },
                                [] { return Result<void>(); }});
    EXPECT_TRUE(reader.feed(**archive));
    return items;
  }

  std::string top_;
};

TEST_F(StagedFiles, KeepLinksBelowADirectory) {
  fs::create_symlink("../../private", top_ + "/shared/conf/link");
  fs::create_symlink("../../../private/key", top_ + "/shared/conf/deep/key");
  EXPECT_THAT(packed(top_ + "/shared/conf"),
              ElementsAre("conf/", "conf/deep/", "conf/deep/a=text", "conf/deep/key=../../../private/key",
                          "conf/link=../../private"));
}

TEST_F(StagedFiles, FollowANamedLinkOfThisUser) {
  fs::create_symlink("private/key", top_ + "/link");
  EXPECT_THAT(packed(top_ + "/link"), ElementsAre("link=secret"));
  fs::create_symlink("private", top_ + "/directory");
  EXPECT_THAT(packed(top_ + "/directory"), ElementsAre("directory/", "directory/key=secret"));
}

TEST_F(StagedFiles, FollowNoLinkInADirectoryForAllUsers) {
  fs::create_symlink("../private/key", top_ + "/shared/link");
  fs::create_symlink("../private", top_ + "/shared/directory");
  for (const char* name : {"/shared/link", "/shared/directory", "/shared/directory/key"}) {
    EXPECT_THAT(packed(top_ + name), ElementsAre(HasSubstr("symbolic link"))) << name;
  }
}

}  // namespace
}  // namespace dlaunch::session
