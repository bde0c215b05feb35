#include <gtest/gtest.h>

#include <asio/post.hpp>
#include <functional>
#include <thread>

#include "launcher/waits.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

/// As after a stop of this process: an answer that takes several turns of the loop waits, and the deadline has passed.
TEST(Deadline, LetsTheReadyHandlersRunFirstIfItIsLate) {
  asio::io_context io;
  int turns = 0;
  int turns_at_deadline = -1;
  Deadline deadline(io, [&] { turns_at_deadline = turns; });
  deadline.set(Clock::now() + 1ms);
  std::this_thread::sleep_for(Deadline::kLate + 10ms);
  const std::function<void()> turn = [&] {
    if (++turns < 5) asio::post(io, turn);
  };
  asio::post(io, turn);
  io.run_for(10s);
  EXPECT_EQ(turns_at_deadline, 5);
}

TEST(Deadline, IsMovedAndUnset) {
  asio::io_context io;
  int calls = 0;
  Deadline deadline(io, [&] { ++calls; });
  deadline.set(Clock::now() + 1h);
  deadline.set(Clock::now() + 1ms);
  io.run_for(10s);
  EXPECT_EQ(calls, 1);
  deadline.set(Clock::now() + 1ms);
  deadline.set({});
  io.restart();
  io.run_for(50ms);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace dlaunch::launcher
