#include "output/own_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "output_fixture.h"

namespace dlaunch::output {
namespace {

TEST(OwnFiles, FailedWriteChangesTheTimeButNotTheSize) {
  const FileState before{4096, 1000};
  EXPECT_TRUE(write_failed(before, {4096, 1001}));
  EXPECT_FALSE(write_failed(before, {4096, 1000})) << "no write";
  EXPECT_FALSE(write_failed(before, {5000, 1001})) << "a write that succeeded";
  EXPECT_FALSE(write_failed(before, {0, 1001})) << "the rank truncated its file";
}

TEST(OwnFiles, FileWithoutAWriteIsNotCut) {
  const FileState start{0, 1000};
  EXPECT_FALSE(may_be_cut(start, {0, 1000}, 0));
  EXPECT_TRUE(may_be_cut(start, {0, 1001}, 0)) << "its only write failed";
  EXPECT_FALSE(may_be_cut({}, {0, 1001}, 0)) << "an unknown start";
}

TEST(OwnFiles, WriteBeforeTheDiskWasFullIsComplete) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const FileState start{0, 1 * kSecond};
  EXPECT_FALSE(may_be_cut(start, {100, 5 * kSecond}, 6 * kSecond));
  EXPECT_TRUE(may_be_cut(start, {100, 6 * kSecond}, 6 * kSecond));
  EXPECT_TRUE(may_be_cut(start, {100, 7 * kSecond}, 6 * kSecond));
  EXPECT_TRUE(may_be_cut(start, {100, 6 * kSecond - 5'000'000}, 6 * kSecond)) << "times of files are coarse";
  EXPECT_TRUE(may_be_cut({}, {100, 7 * kSecond}, 6 * kSecond));
  EXPECT_TRUE(may_be_cut(start, {100, 5 * kSecond}, 0)) << "never seen with free space";
}

TEST(OwnFiles, ReportsNothingOnADiskWithSpace) {
  const TempDir dir;
  int lost = 0;
  OwnFiles files([&](std::uint32_t, int) { ++lost; });
  EXPECT_EQ(files.wait_ms(), -1);
  for (std::uint32_t number = 0; number < 3; ++number) {
    const std::string path = dir / std::to_string(number);
    files.add(number, path, sys::Fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)),
              number == 0 ? OwnFiles::Since::later : OwnFiles::Since::before_the_rank);
  }
  EXPECT_GE(files.wait_ms(), 0);
  std::ofstream(dir / "1") << "some output";
  std::ofstream(dir / "2").close();
  files.look();
  EXPECT_GT(files.wait_ms(), 0);
  for (std::uint32_t number = 0; number < 4; ++number) files.rank_ended(number);
  EXPECT_EQ(files.wait_ms(), -1);
  EXPECT_EQ(lost, 0);
}

TEST(OwnFiles, IgnoresFilesThatAreNotRegular) {
  OwnFiles files([](std::uint32_t, int) { FAIL(); });
  files.add(0, "/dev/full", sys::Fd(open("/dev/full", O_WRONLY | O_CLOEXEC)), OwnFiles::Since::before_the_rank);
  files.add(1, "/no/such/file", sys::Fd(), OwnFiles::Since::before_the_rank);
  EXPECT_EQ(files.wait_ms(), -1);
}

}  // namespace
}  // namespace dlaunch::output
