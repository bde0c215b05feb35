#include "sys/capture.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

namespace dlaunch::sys {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

TEST(Capture, CapturesBothStreamsAndTheStatus) {
  const auto run = Capture({"sh", "-c", "echo out; echo err >&2; cat; exit 3"}).finish(Clock::now() + 20s);
  EXPECT_EQ(run.error, 0);
  EXPECT_FALSE(run.timed_out);
  EXPECT_EQ(run.output, "out\nerr\n");
  EXPECT_EQ(WEXITSTATUS(run.wait_status), 3);
}

TEST(Capture, ReportsWhyTheStartFailed) {
  EXPECT_EQ(Capture({"no-such-program-anywhere"}).finish(Clock::now() + 20s).error, ENOENT);
  EXPECT_EQ(Capture({"/"}).finish(Clock::now() + 20s).error, EACCES);
}

TEST(Capture, LimitsTheOutputAndEnds) {
  const auto run = Capture({"sh", "-c", "head -c 1000000 /dev/zero"}).finish(Clock::now() + 20s);
  EXPECT_FALSE(run.timed_out);
  EXPECT_GE(run.output.size(), 64u << 10);
  EXPECT_LT(run.output.size(), 80u << 10);
}

TEST(Capture, KillsALateCommandWithItsChildren) {
  const auto start = Clock::now();
  pid_t child = 0;
  {
    Capture capture({"sh", "-c", "sleep 100 & echo $!; wait"});
    const auto run = capture.finish(Clock::now() + 3s);
    EXPECT_TRUE(run.timed_out);
    child = std::stoi(run.output);
  }
  EXPECT_LT(Clock::now() - start, 20s);
  for (int i = 0; i < 1000 && ::kill(child, 0) == 0; ++i) {
    char state = 0;  // a zombie that waits for its new parent counts as dead
    if (FILE* stat = std::fopen(("/proc/" + std::to_string(child) + "/stat").c_str(), "re")) {
      if (std::fscanf(stat, "%*d %*s %c", &state) != 1) state = 0;
      std::fclose(stat);
    }
    if (state == 'Z') return;
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_NE(::kill(child, 0), 0);
}

TEST(Capture, EndsWithItsOwner) {
  {
    const Capture capture({"sleep", "100"});
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace dlaunch::sys
