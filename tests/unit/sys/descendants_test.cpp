#include "sys/descendants.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <set>
#include <thread>

#include "sys/io.h"

namespace dlaunch::sys {
namespace {

using namespace std::chrono_literals;

class Descendants : public testing::Test {
 protected:
  void SetUp() override { become_subreaper(); }
  void TearDown() override {
    const bool gone = until([] {
      for (const Process& process : descendants()) signal_process(process, SIGKILL);
      return reap_all();
    });
    EXPECT_TRUE(gone) << "a process of the test still runs";
  }

  static bool until(const std::function<bool()>& happened) {
    for (const auto deadline = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < deadline;) {
      if (happened()) return true;
      std::this_thread::sleep_for(2ms);
    }
    return false;
  }

  /// Forks a child that waits to be killed, or runs `first` and ends.
  static pid_t child(const std::function<void()>& first = {}) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    if (first) {
      first();
      ::_exit(0);
    }
    for (;;) ::pause();
  }

  /// Starts a daemon in its own session; its parent has ended.
  pid_t daemon() {
    const Pipe report = make_pipe();
    const pid_t middle = child([&] {
      ::setsid();
      const pid_t pid = child();
      if (::write(report.write.get(), &pid, sizeof pid) != sizeof pid) ::_exit(1);
    });
    ::waitpid(middle, nullptr, 0);
    pid_t pid = 0;
    EXPECT_EQ(::read(report.read.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    return pid;
  }

  static std::optional<Process> find(pid_t pid) {
    const auto all = descendants();
    const auto found = std::ranges::find(all, pid, &Process::pid);
    return found == all.end() ? std::nullopt : std::optional(*found);
  }
};

TEST_F(Descendants, IsEmptyAtFirst) {
  EXPECT_TRUE(descendants().empty());
  EXPECT_TRUE(reap_all());
}

TEST_F(Descendants, KnowTheirSession) {
  const pid_t same = child();
  const pid_t other = daemon();
  EXPECT_TRUE(proc_shows_own_pids());
  EXPECT_EQ(find(same)->session, ::getsid(0));
  ASSERT_TRUE(until([&] { return find(other).has_value(); }));
  EXPECT_EQ(find(other)->session, ::getsid(other));
}

TEST_F(Descendants, HaveNoChildOnlyWithoutEndedChildren) {
  EXPECT_TRUE(has_no_child());
  const pid_t pid = child();
  EXPECT_FALSE(has_no_child());
  ::kill(pid, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(has_no_child());
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(has_no_child());
}

TEST_F(Descendants, EndOfOtherSessionsKeepsChildrenOfTheOwnSession) {
  const pid_t same = child();
  const pid_t other = daemon();
  ASSERT_TRUE(until([&] { return find(other).has_value(); }));
  end_descendants_with({"NOT=SET"}, 0ms);
  EXPECT_TRUE(find(other).has_value());
  end_descendants_with({"NOT=SET"}, 0ms, OtherSessions::ended);
  EXPECT_FALSE(find(other).has_value());
  EXPECT_TRUE(find(same).has_value());
}

TEST_F(Descendants, FindsADaemonThatLeftItsSessionAndItsParent) {
  const pid_t pid = daemon();
  ASSERT_TRUE(until([&] { return find(pid) && find(pid)->parent == ::getpid(); }));
  EXPECT_GT(find(pid)->start_time, 0u);
  EXPECT_FALSE(reap_all());
}

TEST_F(Descendants, FindsGrandchildren) {
  const Pipe report = make_pipe();
  const pid_t middle = child([&] {
    const pid_t pid = child();
    if (::write(report.write.get(), &pid, sizeof pid) != sizeof pid) ::_exit(1);
    for (;;) ::pause();
  });
  pid_t pid = 0;
  ASSERT_EQ(::read(report.read.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ASSERT_TRUE(find(pid));
  EXPECT_EQ(find(pid)->parent, middle);
}

TEST_F(Descendants, MatchTheListsOfTheKernel) {
  if (::access("/proc/thread-self/children", R_OK) != 0) GTEST_SKIP() << "this kernel keeps no lists of children";
  child([] {
    for (int i = 0; i < 3; ++i) child();
    for (;;) ::pause();
  });
  const auto pids = [](const std::vector<Process>& processes) {
    std::set<int> found;
    for (const Process& process : processes) found.insert(process.pid);
    return found;
  };
  ASSERT_TRUE(until([] { return descendants().size() == 4; }));
  const auto listed = listed_descendants_of(::getpid());
  ASSERT_TRUE(listed);
  EXPECT_EQ(pids(*listed), pids(descendants()));
}

TEST_F(Descendants, OmitsZombies) {
  const pid_t pid = child([] {});
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(find(pid));
  EXPECT_TRUE(reap_all());
}

TEST_F(Descendants, AcceptsAnyBytesInAName) {
  const Pipe report = make_pipe();
  const pid_t pid = child([&] {
    ::prctl(PR_SET_NAME, ") R 1 (x\n");
    if (::write(report.write.get(), "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  });
  char ready = 0;
  ASSERT_EQ(::read(report.read.get(), &ready, 1), 1);
  ASSERT_TRUE(find(pid));
  EXPECT_EQ(find(pid)->name, ") R 1 (x\n");
  EXPECT_EQ(find(pid)->parent, ::getpid());
}

TEST_F(Descendants, DoesNotSignalAnotherProcessWithTheSamePid) {
  const pid_t pid = child();
  const auto process = find(pid);
  ASSERT_TRUE(process);
  Process earlier = *process;
  earlier.start_time -= 1;  // as if the pid belonged to another process
  signal_process(earlier, SIGKILL);
  std::this_thread::sleep_for(20ms);  // time for an unexpected end
  EXPECT_TRUE(find(pid)) << "a process that only has the pid of the one meant was killed";
  signal_process(*process, SIGKILL);
  EXPECT_TRUE(until([] { return reap_all(); }));
}

TEST_F(Descendants, SignalsNoProcessAfterTheEnd) {
  const pid_t pid = child();
  const auto process = find(pid);
  ASSERT_TRUE(process);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  signal_process(*process, SIGKILL);
  EXPECT_TRUE(reap_all());
}

TEST_F(Descendants, DescribesAProcess) {
  EXPECT_EQ(describe({.pid = 123, .parent = 1, .start_time = 5, .name = "python3", .state = 'D'}),
            "pid 123 (python3), state D");
}

}  // namespace
}  // namespace dlaunch::sys
