#include "sys/inherited.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <cerrno>

namespace dlaunch::sys {
namespace {

TEST(Affinity, MatchesTheKernel) {
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0) << "more than 1024 CPUs: this test cannot count them";
  const auto cpus = affinity_of(0);
  ASSERT_TRUE(cpus);
  EXPECT_EQ(cpus->size(), static_cast<size_t>(CPU_COUNT(&set)));
  for (const std::uint32_t cpu : *cpus) EXPECT_TRUE(CPU_ISSET(cpu, &set)) << cpu;
}

TEST(Affinity, OfAMissingProcessIsAnError) {
  EXPECT_FALSE(affinity_of(1 << 30));
  EXPECT_EQ(errno, ESRCH);
}

}  // namespace
}  // namespace dlaunch::sys
