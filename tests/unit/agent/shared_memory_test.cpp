#include "agent/shared_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "sys/fd.h"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr pid_t kOurs = 4242;  // a process of the round

/// A directory in place of /dev/shm, empty at the start of the round.
class SharedMemoryOfARound : public testing::Test {
 protected:
  SharedMemoryOfARound() : directory_(fs::path(testing::TempDir()) / ("shm-" + std::to_string(::getpid()))) {
    fs::create_directory(directory_);
    before_ = file("torch_4242_before_0");
    memory_.emplace(directory_);
    memory_->reaped(kOurs);
  }
  ~SharedMemoryOfARound() override { fs::remove_all(directory_); }

  std::string file(const std::string& name) const {
    std::ofstream(directory_ / name) << "bytes";
    return directory_ / name;
  }

  const fs::path directory_;
  std::string before_;
  std::optional<SharedMemory> memory_;
};

TEST_F(SharedMemoryOfARound, RemovesAFileWithThePidOfAProcessOfTheRound) {
  const std::string torch = file("torch_4242_123_0");
  const std::string loky = file("sem.loky-4242-abc");
  const auto left = memory_->remove();
  EXPECT_THAT(left.removed, testing::UnorderedElementsAre(torch, loky));
  EXPECT_FALSE(fs::exists(torch));
  EXPECT_TRUE(fs::exists(before_)) << "it was there before the round";
}

TEST_F(SharedMemoryOfARound, KeepsFilesOfOtherJobs) {
  const std::string others = file("torch_4243_123_0");
  const std::string without_pid = file("torch_x");
  const std::string without_shape = file("checkpoint_4242");
  const std::string nobodys = file("psm_1a2b3c");
  const auto left = memory_->remove();
  EXPECT_THAT(left.removed, IsEmpty());
  EXPECT_THAT(left.unproven, testing::UnorderedElementsAre(others, nobodys));
  for (const std::string& path : {others, without_pid, without_shape, nobodys}) EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(SharedMemoryOfARound, KeepsOpenOrMappedFiles) {
  const std::string open = file("torch_4242_1_0");
  const std::string mapped = file("torch_4242_2_0");
  const sys::Fd holder(::open(open.c_str(), O_RDONLY | O_CLOEXEC));
  void* memory = nullptr;
  {
    const sys::Fd file(::open(mapped.c_str(), O_RDWR | O_CLOEXEC));
    memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  }
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_THAT(memory_->remove().removed, IsEmpty());
  ::munmap(memory, 4096);
  EXPECT_THAT(memory_->remove().removed, ElementsAre(mapped));
}

TEST_F(SharedMemoryOfARound, DoesNotFollowALink) {
  const std::string target = file("other");
  fs::create_symlink(target, directory_ / "torch_4242_3_0");
  EXPECT_THAT(memory_->remove().removed, IsEmpty());
  EXPECT_TRUE(fs::exists(target));
}

TEST_F(SharedMemoryOfARound, TextListsRemovedAndUnprovenFiles) {
  EXPECT_EQ(text_of({}), "");
  EXPECT_EQ(text_of({{"/dev/shm/a"}, {}}), "removed shared memory of killed ranks: /dev/shm/a");
  EXPECT_THAT(text_of({{}, {"/dev/shm/b"}}), testing::HasSubstr("run: rm /dev/shm/b"));
}

}  // namespace
}  // namespace dlaunch::agent
