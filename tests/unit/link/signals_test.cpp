#include "link/signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <csignal>

namespace dlaunch::link {
namespace {

constexpr int kJobs = 3000;

/// A process that ignores the signal, and runs jobs that receive the signal.
[[noreturn]] void run_jobs() {
  asio::io_context io;
  for (int job = 0; job < kJobs; ++job) {
    Signals signals(io);
    signals.add(SIGUSR1, true);
    io.poll();
  }
  ::_exit(0);
}

TEST(Signals, IgnoredSignalNeverHasItsDefaultAction) {
  const auto before = std::signal(SIGUSR1, SIG_IGN);
  const pid_t jobs = ::fork();
  if (jobs == 0) run_jobs();
  std::signal(SIGUSR1, before);
  ASSERT_GT(jobs, 0);
  int status = 0;
  while (::waitpid(jobs, &status, WNOHANG) == 0) ::kill(jobs, SIGUSR1);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
}

TEST(Signals, SignalWithDefaultActionHasItAgain) {
  std::signal(SIGUSR2, SIG_DFL);
  asio::io_context io;
  {
    Signals(io).add(SIGUSR2);
  }
  EXPECT_EQ(std::signal(SIGUSR2, SIG_DFL), SIG_DFL);
}

}  // namespace
}  // namespace dlaunch::link
