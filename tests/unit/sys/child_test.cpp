#include "sys/child.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "sys/io.h"

namespace dlaunch::sys {
namespace {

using namespace std::chrono_literals;

/// SIGALRM every 5 ms interrupts system calls.
class Alarms {
 public:
  Alarms() {
    struct sigaction count{};
    count.sa_handler = [](int) { came_ = came_ + 1; };
    came_ = 0;
    ::sigaction(SIGALRM, &count, &before_);
    const itimerval often{{0, 5000}, {0, 5000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Alarms() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;
  static int came() { return came_; }

 private:
  static inline volatile sig_atomic_t came_ = 0;
  struct sigaction before_{};
};

/// Forks a child that exits with `code` when `until` is closed.
pid_t fork_child(Pipe& until, int code) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  until.write.reset();
  char byte = 0;
  ::_exit(::read(until.read.get(), &byte, 1) == 0 ? code : 99);
}

class ReapBy : public testing::TestWithParam<bool> {
 protected:
  Pipe until_ = make_pipe();
  const pid_t pid_ = fork_child(until_, 7);
  const Fd pidfd_ = GetParam() ? open_pidfd(pid_) : Fd();
};

TEST_P(ReapBy, IsNotShortenedBySignals) {
  ASSERT_EQ(static_cast<bool>(pidfd_), GetParam());
  {
    const Alarms alarms;
    const Time deadline = Clock::now() + 200ms;
    EXPECT_FALSE(reap_by(pid_, pidfd_, deadline));
    EXPECT_GE(Clock::now(), deadline);
    EXPECT_GT(Alarms::came(), 0);
  }
  until_.write.reset();
  int wait_status = 0;
  EXPECT_TRUE(reap_by(pid_, pidfd_, Clock::now() + 60s, &wait_status));
  EXPECT_TRUE(WIFEXITED(wait_status));
  EXPECT_EQ(WEXITSTATUS(wait_status), 7);
}

TEST_P(ReapBy, TreatsAChildReapedElsewhereAsEnded) {
  until_.write.reset();
  ASSERT_EQ(::waitpid(pid_, nullptr, 0), pid_);
  EXPECT_TRUE(reap_by(pid_, pidfd_, Clock::now() + 60s));
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutPidfd, ReapBy, testing::Bool());

}  // namespace
}  // namespace dlaunch::sys
