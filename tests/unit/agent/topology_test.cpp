// Linked -static but under sanitizers: a successful link and run shows that hwloc fits into the static agent.
#include "agent/topology.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <algorithm>
#include <set>

namespace dlaunch::agent {
namespace {

std::set<std::uint32_t> affinity() {
  cpu_set_t mask;
  std::set<std::uint32_t> cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.insert(cpu);
  }
  return cpus;
}

std::set<std::uint32_t> cpus_of(const plan::Topology& topology) {
  std::set<std::uint32_t> cpus;
  for (const plan::Pu& pu : topology.pus) cpus.insert(pu.os_index);
  return cpus;
}

/// Restores the test's own affinity.
class KeepAffinity {
 public:
  KeepAffinity() { sched_getaffinity(0, sizeof mask_, &mask_); }
  ~KeepAffinity() { sched_setaffinity(0, sizeof mask_, &mask_); }
  KeepAffinity(const KeepAffinity&) = delete;
  KeepAffinity& operator=(const KeepAffinity&) = delete;

 private:
  cpu_set_t mask_{};
};

TEST(Topology, ContainsExactlyTheUsableCpus) {
  const auto topology = read_topology();
  ASSERT_TRUE(topology) << to_text(topology.error());
  EXPECT_EQ(cpus_of(*topology), affinity());
  EXPECT_EQ(cpus_of(*topology).size(), topology->pus.size());
}

TEST(Topology, UsesAndKeepsANarrowedMask) {
  const std::set<std::uint32_t> all = affinity();
  ASSERT_FALSE(all.empty());
  const KeepAffinity keep;
  for (const std::uint32_t cpu : all) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const auto topology = read_topology();
    ASSERT_TRUE(topology) << to_text(topology.error());
    EXPECT_EQ(cpus_of(*topology), std::set<std::uint32_t>{cpu});
    EXPECT_EQ(affinity(), std::set<std::uint32_t>{cpu});
  }
}

TEST(Topology, OfTheWholeMachineIgnoresTheMask) {
  const auto before = read_whole_topology();
  ASSERT_TRUE(before) << to_text(before.error());
  const std::set<std::uint32_t> all = affinity();
  EXPECT_TRUE(std::ranges::includes(cpus_of(*before), all));
  const KeepAffinity keep;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(*all.rbegin(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto after = read_whole_topology();
  ASSERT_TRUE(after) << to_text(after.error());
  EXPECT_EQ(after->pus, before->pus);
}

TEST(Topology, BindsOneRankPerCore) {
  const auto topology = read_topology();
  ASSERT_TRUE(topology) << to_text(topology.error());
  std::set<int> cores;
  for (const plan::Pu& pu : topology->pus) cores.insert(pu.core);
  const int ranks = static_cast<int>(cores.size());
  const auto masks = plan::bind_ranks(*topology, {.bind_to = plan::BindTo::core}, ranks, false);
  ASSERT_TRUE(masks) << to_text(masks.error());
  std::multiset<std::uint32_t> bound;
  for (const auto& mask : *masks) bound.insert(mask.begin(), mask.end());
  const std::set<std::uint32_t> all = affinity();
  EXPECT_TRUE(std::ranges::equal(bound, all));
  EXPECT_FALSE(plan::bind_ranks(*topology, {.bind_to = plan::BindTo::core}, ranks + 1, false));
}

}  // namespace
}  // namespace dlaunch::agent
