#include "agent/shared_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
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

/// A process of the round, a child of the test, that has a file mapped.
class Rank {
 public:
  enum class As { creator, user };

  Rank(const std::string& path, As as) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (as == As::creator ? O_CREAT | O_EXCL : 0), 0600);
      if (::ftruncate(fd, 4096) != 0 || !map(fd)) ::_exit(1);
      ::close(fd);
      [[maybe_unused]] const ssize_t wrote = ::write(ready[1], "x", 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1) << path;
    ::close(ready[0]);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank() { kill(); }

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  static void* map(int fd) {
    void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }

 private:
  pid_t pid_ = 0;
};

/// The same on the real file system: elsewhere, the device in /proc/PID/maps may be another.
class RankFiles : public testing::Test {
 protected:
  RankFiles() {
    std::string name = "/dev/shm/dlaunch-test-XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~RankFiles() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ / name; }

  fs::path directory_;
};

TEST_F(RankFiles, AreRemovedIfARankCreatedThem) {
  SharedMemory memory(directory_);
  memory.watch();
  Rank creator(path("psm_created"), Rank::As::creator);
  Rank user(path("psm_created"), Rank::As::user);
  Rank alone(path("psm_alone"), Rank::As::creator);
  memory.record_mapped();
  for (Rank* rank : {&creator, &user, &alone}) rank->kill();
  EXPECT_THAT(memory.remove().removed, testing::UnorderedElementsAre(path("psm_created"), path("psm_alone")));
}

TEST_F(RankFiles, AreRemovedIfTheirCreatorEndedFirst) {
  SharedMemory memory(directory_);
  memory.watch();
  Rank creator(path("psm_created"), Rank::As::creator);
  memory.find_creators();
  Rank user(path("psm_created"), Rank::As::user);
  creator.kill();
  memory.record_mapped();
  user.kill();
  EXPECT_THAT(memory.remove().removed, ElementsAre(path("psm_created")));
}

TEST_F(RankFiles, StayIfTheyExistedBeforeTheRound) {
  std::ofstream(path("psm_before")) << "bytes";
  SharedMemory memory(directory_);
  memory.watch();
  Rank user(path("psm_before"), Rank::As::user);
  memory.record_mapped();
  user.kill();
  const auto left = memory.remove();
  EXPECT_THAT(left.removed, IsEmpty());
  EXPECT_THAT(left.unproven, IsEmpty());
}

TEST_F(RankFiles, StayIfAnOutsideProcessCreatedAndClosedThem) {
  SharedMemory memory(directory_);
  memory.watch();
  std::ofstream(path("psm_outside")) << "bytes";
  std::ofstream(path("torch_4242_1")) << "bytes";  // by a process of another pid namespace
  Rank user(path("psm_outside"), Rank::As::user);
  Rank other(path("torch_4242_1"), Rank::As::user);
  memory.find_creators();
  memory.record_mapped();
  user.kill();
  other.kill();
  const auto left = memory.remove();
  EXPECT_THAT(left.removed, IsEmpty());
  EXPECT_THAT(left.unproven, testing::UnorderedElementsAre(path("psm_outside"), path("torch_4242_1")));
}

TEST_F(RankFiles, StayIfAnOutsideProcessClosedThemAfterTheSignal) {
  SharedMemory memory(directory_);
  memory.watch();
  sys::Fd mapped(::open(path("psm_mapped").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  sys::Fd open(::open(path("psm_open").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(mapped.get(), 4096), 0);
  void* const bytes = Rank::map(mapped.get());
  ASSERT_NE(bytes, nullptr);
  mapped.reset();
  Rank user(path("psm_mapped"), Rank::As::user);
  Rank other(path("psm_open"), Rank::As::user);
  memory.record_mapped();
  user.kill();
  other.kill();
  ::munmap(bytes, 4096);
  open.reset();
  EXPECT_THAT(memory.remove().removed, IsEmpty());
  EXPECT_TRUE(fs::exists(path("psm_mapped")));
  EXPECT_TRUE(fs::exists(path("psm_open")));
}

TEST_F(RankFiles, StayIfTheirCreatorIsNotKnown) {
  SharedMemory memory(directory_);
  memory.watch();
  Rank creator(path("psm_created"), Rank::As::creator);
  Rank user(path("psm_created"), Rank::As::user);
  creator.kill();
  memory.record_mapped();
  user.kill();
  EXPECT_THAT(memory.remove().unproven, ElementsAre(path("psm_created")));
}

TEST_F(SharedMemoryOfARound, TextListsRemovedAndUnprovenFiles) {
  EXPECT_EQ(text_of({}), "");
  EXPECT_EQ(text_of({{"/dev/shm/a"}, {}}), "removed shared memory of killed ranks: /dev/shm/a");
  EXPECT_THAT(text_of({{}, {"/dev/shm/b"}}), testing::HasSubstr("run: rm /dev/shm/b"));
}

}  // namespace
}  // namespace dlaunch::agent
