// Samples a child of the test repeatedly.
#include "stacks/sampler.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "stacks/sample.h"
#include "sys/files.h"

namespace dlaunch::stacks {
namespace {

using testing::IsEmpty;
using testing::Not;

#ifdef SYS_pause
constexpr long kPause = SYS_pause;
#else
constexpr long kPause = SYS_ppoll;  // pause() of the C library
#endif

/// Waits for signals until it is killed.
class Sleeper {
 public:
  explicit Sleeper(bool in_vfork = false) : pid_(::fork()) {
    if (pid_ != 0) return;
    const pid_t parent = ::getpid();
    if (in_vfork && ::vfork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(0);  // the parent was killed before prctl()
    }
    std::signal(SIGUSR1, [](int) {});
    for (;;) ::pause();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  /// The switch count of the child in pause(), different from `before`.
  std::optional<SwitchCount> rest(const std::optional<SwitchCount>& before = std::nullopt) const {
    const Time until = Clock::now() + std::chrono::seconds(20);
    std::optional<SwitchCount> rest;
    const auto pauses = [&] { return rest && rest->call.starts_with(std::to_string(kPause) + ' '); };
    while ((!pauses() || rest == before) && Clock::now() < until) {
      ::usleep(1000);
      const auto stat = parse_stat(sys::read_file("/proc/" + std::to_string(pid_) + "/stat").value_or(""));
      const bool sleeps = stat && stat->state == 'S';  // not preempted at the start of pause()
      rest = sleeps ? switch_count_of(pid_, pid_) : std::nullopt;
    }
    return rest;
  }

  const Sample* kept(Sampler& sampler) const {
    const auto rest = this->rest();
    const auto start = parse_stat(sys::read_file("/proc/" + std::to_string(pid_) + "/stat").value_or(""));
    return rest && start ? sampler.caches.samples.find(pid_, start->start_time, {{pid_, *rest}}, false) : nullptr;
  }

 private:
  pid_t pid_;
};

Sampler sampler_until(std::chrono::microseconds limit) { return {.deadline = Clock::now() + limit}; }

TEST(StackSampler, SwitchCountChangesOnlyIfTheThreadRan) {
  const Sleeper sleeper;
  const auto rest = sleeper.rest();
  ASSERT_TRUE(rest);
  EXPECT_EQ(switch_count_of(sleeper.pid(), sleeper.pid()), rest);
  ::kill(sleeper.pid(), SIGUSR1);
  const auto later = sleeper.rest(rest);
  ASSERT_TRUE(later);
  EXPECT_NE(later, rest);
  EXPECT_FALSE(switch_count_of(0x7fffffff, 0x7fffffff));
}

/// With any time limit, a stack is complete or empty.
TEST(StackSampler, NeverReturnsAPartialStack) {
  const Sleeper sleeper;
  ASSERT_TRUE(sleeper.rest());
  Sampler whole = sampler_until(std::chrono::seconds(20));
  const std::string place = place_of(take(sleeper.pid(), whole).threads.front());
  ASSERT_THAT(place, Not(IsEmpty()));
  int timed_out = 0;
  for (int microseconds = 0; microseconds < 4000; microseconds += 20) {
    Sampler sampler = sampler_until(std::chrono::microseconds(microseconds));
    const Tree tree = take_tree(sleeper.pid(), sampler);
    ASSERT_TRUE(tree.processes.front().alive());
    const ThreadStack& main = tree.processes.front().threads.front();
    EXPECT_EQ(place_of(main), main.timed_out ? "" : place);
    EXPECT_EQ(main.locals_hash, 0u);
    EXPECT_TRUE(!main.timed_out || tree.timed_out);
    timed_out += main.timed_out ? 1 : 0;
  }
  EXPECT_GT(timed_out, 0);
}

TEST(StackSampler, DistinguishesAThreadInVforkFromOneThatWaitsForADisk) {
  const Sleeper parent(true);
  const std::string path = "/proc/" + std::to_string(parent.pid()) + "/wchan";
  const Time until = Clock::now() + std::chrono::seconds(20);
  while (sys::read_file(path).value_or("") != "kernel_clone" && Clock::now() < until) ::usleep(1000);
  Sampler sampler = sampler_until(std::chrono::seconds(20));
  for (const char* which : {"first", "kept"}) {
    const Sample sample = take(parent.pid(), sampler);
    ASSERT_TRUE(sample.alive()) << which;
    EXPECT_EQ(sample.threads.front().state, 'S') << which;
    EXPECT_EQ(state_of(sample.threads.front()), "blocked in kernel_clone") << which;
  }
}

TEST(StackSampler, ReusesTheSampleOfAThreadThatDidNotRun) {
  const Sleeper sleeper;
  ASSERT_TRUE(sleeper.rest());
  Sampler sampler = sampler_until(std::chrono::seconds(20));
  const Sample first = take(sleeper.pid(), sampler);
  // In some builds the sampler stops the child to read its frames. The child then needs time to return to pause().
  while (sleeper.kept(sampler) == nullptr && Clock::now() < sampler.deadline) take(sleeper.pid(), sampler);
  const auto rest = sleeper.rest();
  sampler.deadline = Clock::now();  // afterwards memory cannot be read
  for (const bool all : {false, true}) {
    sampler.all_threads = all;
    const Sample again = take(sleeper.pid(), sampler);
    EXPECT_FALSE(again.threads.front().timed_out);
    EXPECT_EQ(place_of(again.threads.front()), place_of(first.threads.front()));
  }
  ::kill(sleeper.pid(), SIGUSR1);
  ASSERT_TRUE(sleeper.rest(rest));
  EXPECT_TRUE(take(sleeper.pid(), sampler).threads.front().timed_out);
}

TEST(StackSampler, DropsSamplesThatAreNoLongerRequested) {
  const Sleeper sleeper;
  ASSERT_TRUE(sleeper.rest());
  Sampler sampler = sampler_until(std::chrono::seconds(20));
  while (sleeper.kept(sampler) == nullptr && Clock::now() < sampler.deadline) take(sleeper.pid(), sampler);
  ASSERT_NE(sleeper.kept(sampler), nullptr);
  sampler.deadline = Clock::now();
  for (int i = 0; i < 100; ++i) sampler.caches.samples.begin_sampling();
  EXPECT_TRUE(take(sleeper.pid(), sampler).threads.front().timed_out);
}

}  // namespace
}  // namespace dlaunch::stacks
