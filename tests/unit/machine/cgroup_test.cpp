#include "machine/local.h"

#include <gtest/gtest.h>

#include "fake_root.h"

namespace dlaunch::machine {
namespace {

TEST(Cgroup, CpuMaxRoundsUp) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 2);
  EXPECT_EQ(parse_cpu_max("200000 100000\n"), 2);
  EXPECT_EQ(parse_cpu_max("1000 100000"), 1);
  EXPECT_EQ(parse_cpu_max("9223372036854775 1"), 2147483647);
  for (const char* none : {"max 100000\n", "", "max", "100000", "0 100000", "100000 0", "-5 100000", "1 2 3", "x y"}) {
    EXPECT_FALSE(parse_cpu_max(none)) << none;
  }
}

TEST(Cgroup, ParsesTheCfsQuota) {
  EXPECT_EQ(parse_cfs("250000\n", "100000\n"), 3);
  EXPECT_FALSE(parse_cfs("-1\n", "100000\n"));
  EXPECT_FALSE(parse_cfs("100000", ""));
}

TEST(Cgroup, ParsesPathsOfBothVersions) {
  const CgroupPaths v2 = parse_cgroups("0::/user.slice/a:b\n");
  EXPECT_EQ(v2.v2, "/user.slice/a:b");
  EXPECT_FALSE(v2.v1_cpu);
  const CgroupPaths hybrid = parse_cgroups("4:cpuset:/x\n2:cpu,cpuacct:/docker/1\n1:name=systemd:/\n0::/\n");
  EXPECT_EQ(hybrid.v1_cpu, "/docker/1");
  EXPECT_EQ(hybrid.v2, "/");
  const CgroupPaths garbage = parse_cgroups("cpu\n:\n1:cpu:\n1:cpu:relative\n::/\n");
  EXPECT_FALSE(garbage.v1_cpu);
  EXPECT_FALSE(garbage.v2);
}

TEST(Cgroup, UsesTheSmallestQuotaOfAllParents) {
  FakeRoot root;
  root.file("proc/self/cgroup", "0::/a/b/c\n");
  root.file("sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  root.file("sys/fs/cgroup/a/b/cpu.max", "800000 100000\n");
  root.file("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  const auto quota = read_cpu_quota(root.path());
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->cpus, 3);
  EXPECT_EQ(quota->from, "cgroup cpu.max");
}

TEST(Cgroup, FindsTheContainersCgroupAtTheRoot) {
  FakeRoot root;
  root.file("proc/self/cgroup", "0::/../../docker/1234\n");
  root.file("sys/fs/cgroup/cpu.max", "400000 100000\n");
  const auto quota = read_cpu_quota(root.path());
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->cpus, 4);
}

TEST(Cgroup, ReadsTheQuotaOfVersionOne) {
  FakeRoot root;
  root.file("proc/self/cgroup", "2:cpu,cpuacct:/docker/1\n0::/\n");
  root.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  root.file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
  const auto quota = read_cpu_quota(root.path());
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->cpus, 3);
  EXPECT_EQ(quota->from, "cgroup cpu.cfs_quota_us");
}

TEST(Cgroup, MissingFilesMeanNoQuota) {
  const FakeRoot root;
  EXPECT_FALSE(read_cpu_quota(root.path()));
}

}  // namespace
}  // namespace dlaunch::machine
