#include "agent/reaper.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "sys/descendants.h"
#include "sys/process_state.h"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

/// A child of this process that ignores TERM.
void start_deaf_child() {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  if (::fork() == 0) {
    ::signal(SIGTERM, SIG_IGN);
    ::close(ready[0]);
    ::close(ready[1]);
    for (;;) ::pause();
  }
  ::close(ready[1]);
  char end = 0;
  ASSERT_EQ(::read(ready[0], &end, 1), 0) << "the child ignores TERM when it closes the pipe";
  ::close(ready[0]);
}

/// This process is stopped from before the end of the grace period until after the limit for KILL.
TEST(Reaper, WaitsForProcessesThatItKillsAfterAStop) {
  asio::io_context io;
  const JobCgroup cgroup;
  start_deaf_child();
  Reaper reaper(io, cgroup);
  std::optional<std::vector<std::string>> left;
  reaper.start(20ms, [&](std::vector<std::string> found) { left = std::move(found); }, 1s);
  std::this_thread::sleep_for(1100ms);
  io.run_for(10s);
  ASSERT_TRUE(left);
  EXPECT_THAT(*left, testing::IsEmpty());
}

}  // namespace
}  // namespace dlaunch::agent
