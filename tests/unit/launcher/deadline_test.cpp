#include <gtest/gtest.h>

#include <asio/post.hpp>
#include <functional>
#include <optional>
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

/// Both handlers wait in the loop when the first one moves or unsets the deadline.
TEST(Deadline, IsMovedAndUnsetWhileItsCallWaitsInTheLoop) {
  for (const bool moved : {true, false}) {
    asio::io_context io;
    int calls = 0;
    asio::steady_timer before(io, Clock::now() + 1ms);
    Deadline deadline(io, [&] { ++calls; });
    deadline.set(Clock::now() + 2ms);
    before.async_wait([&](asio::error_code) { deadline.set(moved ? std::optional(Clock::now() + 1h) : std::nullopt); });
    std::this_thread::sleep_for(5ms);
    io.run_for(50ms);
    EXPECT_EQ(calls, 0) << moved;
    if (!moved) continue;
    deadline.set(Clock::now());
    io.restart();
    io.run_for(10s);
    EXPECT_EQ(calls, 1);
  }
}

}  // namespace
}  // namespace dlaunch::launcher
