#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "chaos/run/injector.h"
#include "sys/fd.h"
#include "sys/randomness.h"

namespace dlaunch::chaos {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

/// A job with files of its agents in a TMPDIR of the test.
class LeftOfAJob : public testing::Test {
 protected:
  LeftOfAJob() {
    std::filesystem::create_directory(directory);
    ::setenv("TMPDIR", directory.c_str(), 1);
  }
  ~LeftOfAJob() override {
    ::unsetenv("TMPDIR");
    std::filesystem::remove_all(directory);
    for (const std::string& path : shared) std::filesystem::remove(path);
  }
  static void make(const std::string& path) {
    EXPECT_TRUE(sys::Fd(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR))) << path;
  }
  std::string in_memory(const std::string& name) {
    shared.push_back("/dev/shm/" + name);
    make(shared.back());
    return shared.back();
  }

  const std::string job = sys::random_hex(8);
  const std::string directory = testing::TempDir() + "dlaunch-left-" + job.substr(0, 4);
  std::vector<std::string> shared;
};

TEST_F(LeftOfAJob, ListsFilesOfItsAgents) {
  const std::string socket = directory + "/dlaunch-" + job + "-0123";
  ASSERT_EQ(::mkfifo(socket.c_str(), S_IRUSR), 0);
  const std::string segment = in_memory("dlaunch-" + job + "_round1-0");
  EXPECT_THAT(left_of(job, std::chrono::seconds(0)), UnorderedElementsAre(socket, segment));
}

TEST_F(LeftOfAJob, OmitsFilesOfOtherJobsAndOfRanks) {
  make(directory + "/dlaunch-" + sys::random_hex(8) + "-0123");
  make(directory + "/checkpoint-" + job);
  in_memory("torch_1_" + job);
  EXPECT_THAT(left_of(job, std::chrono::seconds(0)), IsEmpty());
}

TEST_F(LeftOfAJob, ListsAProcessUntilItEnds) {
  const std::string mark = "DLAUNCH_JOB_ID=" + job;
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    const char* const environment[] = {mark.c_str(), nullptr};
    ::execle("/bin/sleep", "sleep", "1000", nullptr, environment);
    ::_exit(127);
  }
  while (left_of(job, std::chrono::seconds(0)).empty()) ::usleep(1000);  // the child has not executed sleep yet
  EXPECT_THAT(left_of(job, std::chrono::seconds(0)), ElementsAre(HasSubstr("pid " + std::to_string(pid) + " (sleep)")));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_THAT(left_of(job), IsEmpty());
}

}  // namespace
}  // namespace dlaunch::chaos
