#include "transport/command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

namespace dlaunch::transport {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

std::string read_all(const sys::Fd& fd) {
  std::string text;
  std::array<char, 256> buffer;
  for (ssize_t got; (got = ::read(fd.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return text;
}

Clock::duration time_to_close(const std::string& command, int hosts, Exec::Ending ending = Exec::Ending::by_signal) {
  Exec exec([&](const plan::Host&) { return command; }, {}, ending);
  for (int i = 0; i < hosts; ++i) {
    auto opened = exec.open(plan::Host{});
    EXPECT_TRUE(opened);
    // closed by the running command, like the launcher's end of the stream
    EXPECT_EQ(read_all(opened->errors), "up\n");
  }
  const auto start = Clock::now();
  exec.close();
  return Clock::now() - start;
}

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

TEST(Exec, CloseEndsConnectingCommands) {
  EXPECT_LT(time_to_close("sh -c 'echo up >&2; exec sleep 1000 2>/dev/null'", 4), 1900ms);
  EXPECT_FALSE(has_children());
}

TEST(Exec, CloseEndsCommandsThatIgnoreSignals) {
  EXPECT_LT(time_to_close("sh -c 'trap \"\" TERM; echo up >&2; exec 2>/dev/null; while :; do sleep 1; done'", 4),
            2900ms);
  EXPECT_FALSE(has_children());
}

/// A signal to qrsh would end the whole job.
TEST(Exec, CloseWaitsForCommandsThatMustNotBeSignalled) {
  EXPECT_GT(time_to_close("sh -c 'echo up >&2; exec sleep 1.4 2>/dev/null'", 2, Exec::Ending::by_itself), 1200ms);
  EXPECT_FALSE(has_children());
}

TEST(Exec, CloseDoesNotWaitForCommandsThatEnd) {
  EXPECT_LT(time_to_close("sh -c 'echo up >&2; exec 2>/dev/null; cat'", 4), 900ms);
  EXPECT_FALSE(has_children());
}

TEST(Exec, CloseAcceptsChildrenReapedElsewhere) {
  Exec exec([](const plan::Host&) { return "true"; });
  ASSERT_TRUE(exec.open(plan::Host{}));
  ASSERT_GT(::waitpid(-1, nullptr, 0), 0);
  exec.close();
  EXPECT_FALSE(has_children());
}

}  // namespace
}  // namespace dlaunch::transport
