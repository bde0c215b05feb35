// The native frames of children that this test forks.
#include "stacks/native.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "stacks/sampler.h"
#include "sys/files.h"

// Names without C++ mangling, as in symbol tables. The empty asm after the call prevents a tail call.
extern "C" {
using Wait = void (*)();
[[gnu::noinline]] void stacks_test_inner(Wait wait) {
  wait();
  asm volatile("");
}
[[gnu::noinline]] void stacks_test_outer(Wait wait) {
  stacks_test_inner(wait);
  asm volatile("");
}
[[gnu::noinline]] void MPI_Stacks_test(Wait wait) {
  stacks_test_outer(wait);
  asm volatile("");
}
[[gnu::noinline]] void stacks_test_program(Wait wait) {
  MPI_Stacks_test(wait);
  asm volatile("");
}
}

namespace dlaunch::stacks {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

volatile std::sig_atomic_t signals = 0;

class Child {
 public:
  template <class Run>
  explicit Child(Run run) : pid_(::fork()) {
    if (pid_ != 0) return;
    run();
    ::_exit(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  std::string state() const {
    const auto stat = parse_stat(sys::read_file("/proc/" + std::to_string(pid_) + "/stat").value_or(""));
    return stat ? std::string(1, stat->state) : "";
  }
  /// Waits until the child reaches its final state.
  bool is(const std::string& state) const {
    const Time until = Clock::now() + std::chrono::seconds(10);
    bool seen = false;
    while (!(seen = this->state() == state) && Clock::now() < until) ::usleep(1000);
    ::usleep(20'000);
    return seen;
  }
  NativeStack stack() const {
    Budget budget(Sampler::kOfAProcess, Clock::now() + std::chrono::seconds(10));
    ProcessMemory memory(pid_, budget);
    const ReadMemory read = memory.reader();
    const auto maps = parse_maps(sys::read_file("/proc/" + std::to_string(pid_) + "/maps", 8u << 20).value_or(""));
    ModuleNames names(budget, Sampler::kOfAProcess.bytes / 2);
    ModuleCache cache;
    Modules modules(pid_, maps, read, names, cache, budget);
    return native_stack(modules, pid_, state().front(), budget);
  }
  /// Waits for the child's end. Returns the exit code.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
};

std::vector<std::string> functions(const NativeStack& stack) {
  std::vector<std::string> names;
  for (const Frame& frame : stack.frames) names.push_back(frame.function);
  return names;
}

/// The position of `name`, counted from the innermost frame.
std::size_t position(const NativeStack& stack, const std::string& name) {
  const auto names = functions(stack);
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

void sleeps() { ::pause(); }
void spins() {
  while (signals < 1'000'000) asm volatile("");
}

TEST(Native, ReadsFramesOfABlockedThread) {
  const Child child([] { stacks_test_outer(sleeps); });
  ASSERT_TRUE(child.is("S"));
  const NativeStack stack = child.stack();
  EXPECT_TRUE(stack.whole);
  EXPECT_FALSE(stack.in_call);
  EXPECT_THAT(functions(stack), Contains("stacks_test_inner"));
  EXPECT_EQ(position(stack, "stacks_test_outer"), position(stack, "stacks_test_inner") + 1);
  EXPECT_THAT(functions(stack), Contains("main"));
  EXPECT_THAT(functions(stack), Not(Contains("__libc_start_main")));
}

TEST(Native, ReadsFramesOfARunningThread) {
  const Child child([] { stacks_test_outer(spins); });
  ASSERT_TRUE(child.is("R"));
  const NativeStack stack = child.stack();
  EXPECT_TRUE(stack.whole);
  EXPECT_EQ(position(stack, "stacks_test_outer"), position(stack, "stacks_test_inner") + 1);
}

TEST(Native, ReadsFramesBelowASignalHandler) {
  const Child child([] {
    std::signal(SIGUSR1, [](int) { stacks_test_inner(sleeps); });
    stacks_test_outer([] { ::raise(SIGUSR1); });
  });
  ASSERT_TRUE(child.is("S"));
  const NativeStack stack = child.stack();
  EXPECT_TRUE(stack.whole) << testing::PrintToString(functions(stack));
  const std::size_t handler = position(stack, "stacks_test_inner");
  const std::size_t interrupted = position(stack, "stacks_test_outer");
  EXPECT_GT(interrupted, handler + 2) << testing::PrintToString(functions(stack));
  EXPECT_THAT(functions(stack), Contains("main"));
}

TEST(Native, CallThatWaitsForRanksIsInnermostAndHasACallersHash) {
  for (const Wait wait : {Wait(spins), Wait(sleeps)}) {
    const Child child([wait] { stacks_test_program(wait); });
    ASSERT_TRUE(child.is(wait == Wait(spins) ? "R" : "S"));
    const NativeStack stack = child.stack();
    EXPECT_TRUE(stack.in_call);
    EXPECT_EQ(position(stack, "MPI_Stacks_test"), 0u);
    EXPECT_EQ(position(stack, "stacks_test_program"), 1u);
    EXPECT_NE(stack.callers_hash, 0u);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(child.stack().callers_hash, stack.callers_hash);
  }
}

TEST(Native, CallersHashChangesWithProgress) {
  const Child child([] {
    volatile long local = 0;
    for (;;) {
      local = local + 1;
      MPI_Stacks_test([] { ::usleep(1000); });
    }
  });
  ASSERT_TRUE(child.is("S"));
  std::set<std::uint64_t> hashes;
  for (int i = 0; i < 50; ++i) {
    const NativeStack stack = child.stack();
    if (stack.in_call) hashes.insert(stack.callers_hash);
    ::usleep(2000);
  }
  EXPECT_GT(hashes.size(), 3u);
}

TEST(Native, SignalsArriveDespiteRepeatedStops) {
  constexpr int kSignals = 200;
  Child child([] {
    std::signal(SIGUSR1, [](int) { signals = signals + 1; });
    // a sanitizer delivers signals only within calls known to the sanitizer
    while (signals < kSignals) ::poll(nullptr, 0, 0);
  });
  ASSERT_TRUE(child.is("R"));
  for (int i = 0; i < kSignals; ++i) {
    ::kill(child.pid(), SIGUSR1);
    const NativeStack stack = child.stack();
    EXPECT_TRUE(stack.whole || i == kSignals - 1) << testing::PrintToString(functions(stack));  // the last one ends it
    // A second signal of a number that is pending is lost by POSIX, so it has to have been taken.
    const std::string path = "/proc/" + std::to_string(child.pid()) + "/status";
    const Time until = Clock::now() + std::chrono::seconds(10);
    while (sys::read_file(path).value_or("").find("ShdPnd:\t0000000000000000") == std::string::npos &&
           Clock::now() < until) {
      ::usleep(50);
    }
  }
  EXPECT_EQ(child.wait(), 0);
}

#ifdef __x86_64__
constexpr const char* kWait = "epoll_wait";
#else
constexpr const char* kWait = "epoll_pwait";  // epoll_wait() jumps to this function
#endif

TEST(Native, DoesNotInterruptAWaitThatAStopWouldBreak) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  const int end = ::eventfd(0, EFD_CLOEXEC);
  epoll_event wanted{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(::epoll_ctl(epoll, EPOLL_CTL_ADD, end, &wanted), 0);
  Child child([epoll] {
    epoll_event event{};
    ::_exit(::epoll_wait(epoll, &event, 1, -1) == 1 ? 7 : 8);
  });
  ASSERT_TRUE(child.is("S"));
  for (int i = 0; i < 100; ++i) EXPECT_THAT(functions(child.stack()), Contains(kWait));
  ::eventfd_write(end, 1);
  EXPECT_EQ(child.wait(), 7);
  ::close(end);
  ::close(epoll);
}

/// A child that waits in a call which the kernel never restarts after a stop.
class Waiting {
 public:
  Waiting() : end_(::eventfd(0, EFD_CLOEXEC)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event wanted{.events = EPOLLIN, .data = {}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, end_, &wanted);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    ::close(end_);
    ::close(epoll_);
  }
  /// 0: an event came, otherwise errno.
  int wait() const {
    epoll_event event{};
    return ::epoll_wait(epoll_, &event, 1, -1) == 1 ? 0 : errno;
  }
  void end() const { ::eventfd_write(end_, 1); }

 private:
  int end_;
  int epoll_;
};

bool stopped(pid_t pid) {
  const ReadMemory nothing = [](std::uint64_t, std::span<char>) { return false; };
  return stop_and_copy(pid, nothing, Clock::now() + std::chrono::seconds(10)).has_value();
}

#ifdef __x86_64__
/// The thread may enter the call after it was seen running.
TEST(ThreadState, StopDoesNotInterruptASystemCall) {
  const Waiting waiting;
  Child child([&] { ::_exit(waiting.wait()); });
  ASSERT_TRUE(child.is("S"));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(stopped(child.pid()));
  waiting.end();
  EXPECT_EQ(child.wait(), 0);
}
#endif

TEST(ThreadState, StopLeavesTheInterruptionBySignals) {
  const Waiting waiting;
  Child child([&] {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &action, nullptr);
    ::_exit(waiting.wait());
  });
  ASSERT_TRUE(child.is("S"));
  EXPECT_TRUE(stopped(child.pid()));
  ::kill(child.pid(), SIGUSR1);
  EXPECT_EQ(child.wait(), EINTR);
}

TEST(ThreadState, OnlyCallsWithoutAnEffectAreRepeated) {
  EXPECT_TRUE(may_be_repeated(SYS_epoll_pwait));
  EXPECT_TRUE(may_be_repeated(SYS_recvfrom));
  EXPECT_FALSE(may_be_repeated(SYS_close));
  EXPECT_FALSE(may_be_repeated(SYS_ioctl));
}

TEST(Native, MissingProcessHasNoFrames) {
  const std::vector<Mapping> none;
  const ReadMemory fails = [](std::uint64_t, std::span<char>) { return false; };
  Budget budget(Sampler::kOfAProcess, Clock::now());
  ModuleNames names(budget);
  ModuleCache cache;
  Modules modules(0x7fffffff, none, fails, names, cache, budget);
  EXPECT_THAT(native_stack(modules, 0x7fffffff, 'R', budget).frames, IsEmpty());
}

}  // namespace
}  // namespace dlaunch::stacks
