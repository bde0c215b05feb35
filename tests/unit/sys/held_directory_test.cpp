#include "sys/held_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace dlaunch::sys {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr uid_t kOther = 65534;

class HeldDirectoryTest : public testing::Test {
 protected:
  HeldDirectoryTest() {
    std::string name = testing::TempDir() + "held-XXXXXX";
    top_ = ::mkdtemp(name.data());
    fs::create_directory(top_ + "/private");
    std::ofstream(top_ + "/private/file") << "precious";
    fs::create_directory(top_ + "/shared");
    ::chmod((top_ + "/shared").c_str(), 0777);
  }
  ~HeldDirectoryTest() override { fs::remove_all(top_); }

  HeldDirectory open(const std::string& name) const {
    HeldDirectory directory = HeldDirectory::open(top_ + name);
    EXPECT_TRUE(directory) << name;
    return directory;
  }
  std::vector<std::string> in(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(top_ + name)) names.push_back(entry.path().filename());
    return names;
  }
  void file(const std::string& name) const {
    fs::create_directories(fs::path(top_ + name).parent_path());
    std::ofstream(top_ + name) << "bytes";
  }
  /// Root may remove all files: another user becomes the owner of the directories, and does the work.
  int as_owner(const std::vector<std::string>& directories, const std::function<int()>& work) const {
    if (::geteuid() != 0) return work();
    for (const std::string& name : directories) EXPECT_EQ(::chown((top_ + name).c_str(), kOther, kOther), 0);
    ::chmod(top_.c_str(), 0777);
    EXPECT_EQ(::seteuid(kOther), 0);
    const int result = work();
    EXPECT_EQ(::seteuid(0), 0);
    return result;
  }

  std::string top_;
};

TEST_F(HeldDirectoryTest, MakeCreatesTheParentsWithTheMode) {
  for (int times = 0; times < 2; ++times) EXPECT_TRUE(HeldDirectory::make(top_ + "/a/./b//c/", S_IRWXU));
  for (const char* name : {"/a", "/a/b", "/a/b/c"}) {
    struct stat status{};
    ASSERT_EQ(::stat((top_ + name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode, S_IFDIR | S_IRWXU) << name;
  }
}

TEST_F(HeldDirectoryTest, MakeReportsTheFirstError) {
  for (const auto& [path, error] : {std::pair{top_ + "/private/file/a", ENOTDIR},
                                    {"", ENOENT},
                                    {top_ + '/' + std::string(256, 'x') + "/a", ENAMETOOLONG}}) {
    EXPECT_FALSE(HeldDirectory::make(path, S_IRWXU)) << path;
    EXPECT_EQ(errno, error) << path;
  }
  EXPECT_FALSE(HeldDirectory::open(top_ + "/missing/a"));
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(HeldDirectoryTest, FollowsLinksOfThisUser) {
  fs::create_symlink("private", top_ + "/relative");
  fs::create_symlink(top_ + "/relative/../private", top_ + "/absolute");
  EXPECT_TRUE(is_same(*open("/absolute").facts(), *open("/private").facts()));
  EXPECT_TRUE(HeldDirectory::open("/proc/self/cwd"));
  fs::create_symlink("circle", top_ + "/circle");
  EXPECT_FALSE(HeldDirectory::open(top_ + "/circle"));
  EXPECT_EQ(errno, ELOOP);
}

TEST_F(HeldDirectoryTest, FollowsNoLinkInADirectoryForAllUsersWithoutStickyBit) {
  fs::create_symlink(top_ + "/private", top_ + "/shared/link");
  fs::create_symlink(top_ + "/shared/link", top_ + "/indirect");
  for (const char* name : {"/shared/link", "/shared/link/.", "/indirect"}) {
    EXPECT_FALSE(HeldDirectory::open(top_ + name)) << name;
    EXPECT_EQ(errno, ELOOP) << name;
    EXPECT_FALSE(HeldDirectory::make(top_ + name + "/new", S_IRWXU)) << name;
  }
  EXPECT_THAT(in("/private"), UnorderedElementsAre("file"));
  ::chmod((top_ + "/shared").c_str(), 01777);
  EXPECT_TRUE(HeldDirectory::open(top_ + "/indirect"));
}

TEST_F(HeldDirectoryTest, FollowsNoLinkOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  fs::create_symlink("private", top_ + "/link");
  ASSERT_EQ(::lchown((top_ + "/link").c_str(), kOther, kOther), 0);
  EXPECT_FALSE(HeldDirectory::open(top_ + "/link"));
  EXPECT_EQ(errno, ELOOP);
  EXPECT_FALSE(open_file_at(HeldPlace::of(top_ + "/link"), O_RDONLY, 0));
}

TEST_F(HeldDirectoryTest, FollowsALinkInADirectoryThatOnlyTheOwnerOfTheLinkCanWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  fs::create_directory(top_ + "/theirs");
  fs::create_symlink("../private", top_ + "/theirs/link");
  ASSERT_EQ(::lchown((top_ + "/theirs/link").c_str(), kOther, kOther), 0);
  ASSERT_EQ(::lchown((top_ + "/theirs").c_str(), kOther, kOther), 0);
  EXPECT_TRUE(HeldDirectory::open(top_ + "/theirs/link"));
  ::chmod((top_ + "/theirs").c_str(), 0775);
  EXPECT_FALSE(HeldDirectory::open(top_ + "/theirs/link"));
  EXPECT_EQ(errno, ELOOP);
}

TEST_F(HeldDirectoryTest, FollowsNoLinkBelowADirectoryOfAnotherUserInADirectoryForSeveralUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  fs::create_directories(top_ + "/shared/theirs/below");
  fs::create_directories(top_ + "/shared/mine/theirs");
  for (const char* name : {"/shared/theirs/link", "/shared/theirs/below/link", "/shared/mine/theirs/link"}) {
    fs::create_symlink(top_ + "/private", top_ + name);
    ASSERT_EQ(::lchown((top_ + name).c_str(), kOther, kOther), 0);
  }
  for (const char* name : {"/shared/theirs", "/shared/theirs/below", "/shared/mine/theirs"})
    ASSERT_EQ(::lchown((top_ + name).c_str(), kOther, kOther), 0);
  for (const mode_t mode : {01777U, 0777U, 0775U}) {
    ::chmod((top_ + "/shared").c_str(), mode);
    for (const std::string name : {"/shared/theirs/link", "/shared/theirs/below/link"}) {
      EXPECT_FALSE(HeldDirectory::open(top_ + name)) << name << mode;
      EXPECT_EQ(errno, ELOOP) << name;
      EXPECT_FALSE(open_file_at(HeldPlace::of(top_ + name), O_RDONLY, 0)) << name;
    }
    EXPECT_FALSE(open_file_at({open("/shared").open_below("theirs"), "link"}, O_RDONLY, 0));
    EXPECT_TRUE(HeldDirectory::open(top_ + "/shared/mine/theirs/link")) << "this user keeps the directory there";
  }
  const HeldDirectory before = HeldDirectory::open(".");
  fs::current_path(top_ + "/shared/theirs/below");
  EXPECT_FALSE(HeldDirectory::open("link"));
  fs::current_path(top_ + "/shared/mine/theirs");
  EXPECT_TRUE(HeldDirectory::open("link"));
  ASSERT_EQ(::fchdir(before.fd()), 0);
}

TEST_F(HeldDirectoryTest, StaysTheSameAfterAnExchange) {
  fs::create_directory(top_ + "/a");
  const HeldDirectory held = open("/a");
  fs::rename(top_ + "/a", top_ + "/moved");
  fs::create_symlink("private", top_ + "/a");
  EXPECT_TRUE(held.open_file("new", O_WRONLY | O_CREAT, 0600));
  EXPECT_EQ(held.remove_file("file"), ENOENT);
  EXPECT_THAT(in("/moved"), UnorderedElementsAre("new"));
  EXPECT_THAT(in("/private"), UnorderedElementsAre("file"));
}

TEST_F(HeldDirectoryTest, FollowsNoLinkBelow) {
  fs::create_directory(top_ + "/a");
  fs::create_symlink("../private", top_ + "/a/link");
  fs::create_symlink("../private/file", top_ + "/a/file");
  const HeldDirectory held = open("/a");
  EXPECT_FALSE(held.open_below("link"));
  EXPECT_FALSE(held.make_below("link", S_IRWXU));
  EXPECT_FALSE(held.open_parent_below("link/x"));
  EXPECT_FALSE(held.open_file("file", O_WRONLY));
  EXPECT_TRUE(S_ISLNK(held.facts_of("file")->st_mode));
}

TEST_F(HeldDirectoryTest, RemovesATreeWithoutFollowingLinks) {
  file("/a/b/c/file");
  file("/a/file");
  for (const char* name : {"/a/link", "/a/b/link", "/a/b/c/link"}) fs::create_symlink(top_ + "/private", top_ + name);
  fs::create_symlink("private", top_ + "/link");
  const HeldDirectory held = open("");
  EXPECT_EQ(held.remove_tree("a"), 0);
  EXPECT_EQ(held.remove_tree("a"), ENOENT);
  EXPECT_EQ(held.remove_tree("link"), 0);
  EXPECT_THAT(in(""), UnorderedElementsAre("private", "shared"));
  EXPECT_THAT(in("/private"), UnorderedElementsAre("file"));
}

TEST_F(HeldDirectoryTest, RemovesOnlyTheExpectedDirectory) {
  file("/a/file");
  fs::create_symlink("a", top_ + "/link");
  const HeldDirectory held = open("");
  const auto expected = *open("/private").facts();
  const auto is_expected = [&](const struct stat& its) { return is_same(its, expected); };
  EXPECT_EQ(held.remove_directory("a", is_expected), EPERM);
  EXPECT_NE(held.remove_directory("link", [](const struct stat&) { return true; }), 0);
  EXPECT_THAT(in("/a"), UnorderedElementsAre("file"));
  EXPECT_EQ(held.remove_directory("private", is_expected), 0);
}

TEST_F(HeldDirectoryTest, KeepsNamedFiles) {
  for (const char* name : {"/a/log", "/a/old", "/a/logs/out", "/a/logs/old", "/a/logs/x/old", "/a/logs.2/old"})
    file(name);
  EXPECT_EQ(open("/a").remove_content({"log", "logs/out"}), 0);
  EXPECT_THAT(in("/a"), UnorderedElementsAre("log", "logs"));
  EXPECT_THAT(in("/a/logs"), UnorderedElementsAre("out"));
}

TEST_F(HeldDirectoryTest, FindsLocksBelowExceptForKeptNames) {
  for (const char* name : {"/a/file", "/a/logs/out", "/a/logs/old"}) file(name);
  EXPECT_EQ(open("/a").locked_below(), "");
  for (const char* name : {"logs/old", "logs"}) {
    const Fd locked(::open((top_ + "/a/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    for (const int kind : {LOCK_EX, LOCK_SH}) {
      ASSERT_EQ(::flock(locked.get(), kind), 0);
      EXPECT_EQ(open("/a").locked_below(), name);
    }
  }
  const Fd locked(::open((top_ + "/a/logs").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(locked.get(), LOCK_EX), 0);
  EXPECT_TRUE(open("/a/logs").is_locked());
  EXPECT_EQ(open("/a").locked_below({"logs/out"}), "");
  EXPECT_THAT(in("/a/logs"), UnorderedElementsAre("out", "old"));
}

TEST_F(HeldDirectoryTest, FindsProtectedFilesExceptForKeptNames) {
  for (const char* name : {"/a/file", "/a/logs/out", "/a/logs/old"}) file(name);
  EXPECT_FALSE(open("/a").obstacle_below());
  for (const std::string name : {"logs/out", "logs", ""}) {
    const Fd fd(::open((top_ + "/a/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    int before = 0;
    ASSERT_TRUE(fd);
    if (::ioctl(fd.get(), FS_IOC_GETFLAGS, &before) != 0) GTEST_SKIP() << "the file system has no attributes";
    int flags = before | FS_IMMUTABLE_FL;
    if (::ioctl(fd.get(), FS_IOC_SETFLAGS, &flags) != 0) GTEST_SKIP() << "requires the right to set attributes";
    const auto obstacle = open("/a").obstacle_below();
    const auto kept = open("/a").obstacle_below({"logs/out"});
    const std::string locked = open("/a").locked_below();
    ASSERT_EQ(::ioctl(fd.get(), FS_IOC_SETFLAGS, &before), 0);
    ASSERT_TRUE(obstacle) << name;
    EXPECT_EQ(obstacle->path, name);
    EXPECT_EQ(obstacle->error, EPERM);
    EXPECT_EQ(kept.has_value(), name != "logs/out") << name;
    EXPECT_EQ(locked, "");
  }
  const Fd lock(::open((top_ + "/a/logs/old").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  const auto obstacle = open("/a").obstacle_below();
  ASSERT_TRUE(obstacle);
  EXPECT_EQ(obstacle->path, "logs/old");
  EXPECT_EQ(obstacle->error, 0);
}

TEST_F(HeldDirectoryTest, RemovesADeepTreeWithFewDescriptors) {
  constexpr int kDepth = 3000;
  HeldDirectory at = open("/private");
  for (int depth = 0; depth < kDepth; ++depth) {
    at = at.make_below("d", S_IRWXU);
    ASSERT_TRUE(at) << depth;
  }
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{64, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  EXPECT_EQ(open("").remove_tree("private"), 0);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(fs::exists(top_ + "/private"));
}

TEST_F(HeldDirectoryTest, ReportsAnEntryThatStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory to another user";
  file("/a/b/closed/file");
  file("/a/c/file");
  for (const auto& [name, mode] : {std::pair{"/a/b/closed", 0700}, {"/a/c", 0755}}) {  // directories of root
    ASSERT_EQ(::chmod((top_ + name).c_str(), static_cast<mode_t>(mode)), 0);
  }
  const HeldDirectory held = open("");
  std::string stays;
  EXPECT_EQ(as_owner({"/a", "/a/b"}, [&] { return held.open_below("a").remove_content({}, &stays); }), EACCES);
  EXPECT_TRUE(stays == "b/closed" || stays == "c/file") << stays;
  EXPECT_THAT(in("/a"), UnorderedElementsAre("b", "c"));
  fs::remove_all(top_ + "/a/c");
  EXPECT_EQ(as_owner({"/a", "/a/b"}, [&] { return held.open_below("a").remove_content({}, &stays); }), EACCES);
  EXPECT_EQ(stays, "b/closed");
  EXPECT_EQ(as_owner({"/a", "/a/b"}, [&] { return held.open_below("a").remove_content({"b/x"}, &stays); }), EACCES);
  EXPECT_EQ(stays, "b/closed");
  EXPECT_EQ(as_owner({"/a", "/a/b"}, [&] { return held.remove_tree("a"); }), EACCES);
}

TEST_F(HeldDirectoryTest, RemovesOwnDirectoriesWithoutPermissions) {
  for (const int own : {0555, 0300, 0}) {
    for (const char* name : {"/a/read-only/file", "/a/closed/below/file"}) file(name);
    for (const auto& [name, mode] :
         {std::pair{"/a/read-only", 0555}, {"/a/closed/below", 0}, {"/a/closed", 0}, {"/a", own}}) {
      ASSERT_EQ(::chmod((top_ + name).c_str(), static_cast<mode_t>(mode)), 0);
    }
    const HeldDirectory held = open("/a");
    EXPECT_EQ(as_owner({"/a/closed/below", "/a/closed", "/a/read-only", "/a"}, [&] { return held.remove_content(); }),
              0);
    EXPECT_THAT(in("/a"), IsEmpty());
  }
}

TEST_F(HeldDirectoryTest, ChangesNoDirectoryOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory to another user";
  file("/a/file");
  ASSERT_EQ(::chown((top_ + "/a").c_str(), kOther, kOther), 0);
  EXPECT_EQ(open("/a").set_mode(0777), EPERM);
  EXPECT_EQ(open("/a").facts()->st_mode & 0777u, 0755u);
}

TEST_F(HeldDirectoryTest, ReportsTheOwnerOfNewFiles) {
  EXPECT_EQ(open("/private").owner_of_new_files(), ::geteuid());
  EXPECT_THAT(in("/private"), UnorderedElementsAre("file"));
}

TEST_F(HeldDirectoryTest, PlaceSplitsThePath) {
  for (const auto& [path, name] : {std::pair{top_ + "/private", "private"},
                                   {top_ + "/private/", "private"},
                                   {"name", "name"},
                                   {"/", "."},
                                   {"/tmp", "tmp"}}) {
    const HeldPlace place = HeldPlace::of(path);
    EXPECT_TRUE(place) << path;
    EXPECT_EQ(place.name, name);
  }
  EXPECT_FALSE(HeldPlace::of(""));
}

}  // namespace
}  // namespace dlaunch::sys
