#include "dlaunch/hostfile.h"

#include "../hosts/entries.h"
#include "settle/hosts.h"

namespace dlaunch::hosts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kInSlurm = {"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=s[1-2]", "SLURM_TASKS_PER_NODE=2(x2)"};

Result<plan::Allocation> choose(const HostRequest& request, const std::vector<std::string>& environment = {}) {
  return choose_allocation(request, environment,
                           [](const std::string&) -> Result<std::string> { return fail(Error{}); });
}

std::vector<std::string> names(const HostRequest& request, const std::vector<std::string>& environment = {}) {
  const auto allocation = choose(request, environment);
  std::vector<std::string> found;
  if (!allocation) return {to_text(allocation.error())};
  for (const plan::Host& host : allocation->hosts) found.push_back(host.local ? "here" : host.name);
  return found;
}

TEST(Choose, UsesTheFirstSourceWithHosts) {
  HostRequest request;
  EXPECT_THAT(names(request), ElementsAre("here"));
  request.default_hostfile = *parse_hostfile("d slots=1\n", "default");
  EXPECT_THAT(names(request), ElementsAre("d"));
  EXPECT_THAT(names(request, kInSlurm), ElementsAre("s1", "s2"));
  request.ignore_resource_manager = true;
  EXPECT_THAT(names(request, kInSlurm), ElementsAre("d"));
  request.hostfile = *parse_hostfile("f slots=1\n", "hosts");
  EXPECT_THAT(names(request, kInSlurm), ElementsAre("f"));
  request.list = *parse_host_list("l");
  EXPECT_THAT(names(request, kInSlurm), ElementsAre("l"));
}

TEST(Choose, ReportsBeforehandIfAHostIsNamed) {
  HostRequest request;
  EXPECT_TRUE(names_no_host(request, {"SLURM_JOB_NODELIST= "}));
  EXPECT_FALSE(names_no_host(request, kInSlurm));
  EXPECT_FALSE(names_no_host(request, {"PBS_NODEFILE=/nodes"}));
  request.ignore_resource_manager = true;
  EXPECT_TRUE(names_no_host(request, kInSlurm));
  HostRequest listed;
  listed.list = *parse_host_list("l");
  HostRequest in_file;
  in_file.hostfile = *parse_hostfile("f slots=1\n", "hosts");
  HostRequest by_default;
  by_default.default_hostfile = *parse_hostfile("d slots=1\n", "default");
  for (const HostRequest& naming : {listed, in_file, by_default}) EXPECT_FALSE(names_no_host(naming, {}));
}

TEST(Choose, DefaultsToASlotPerHost) {
  HostRequest request;
  request.one_slot_each = true;
  EXPECT_EQ(choose(request)->hosts.front().slots, 1);
  request.hostfile = *parse_hostfile("a\nb:2\na\nb\n", "hosts");
  const auto allocation = choose(request);
  ASSERT_TRUE(allocation);
  EXPECT_EQ(allocation->hosts[0].slots, 2);
  EXPECT_FALSE(allocation->hosts[0].slots_unknown);
  EXPECT_EQ(allocation->hosts[1].slots, 3);
}

TEST(Choose, NolocalRemovesThisMachine) {
  HostRequest request;
  request.no_local = true;
  EXPECT_THAT(error_of(choose(request)), HasSubstr("--nolocal: missing hosts"));
  request.list = *parse_host_list("localhost,a,localhost,b,a");
  EXPECT_THAT(names(request), ElementsAre("a", "b"));
  EXPECT_THAT(choose(request)->sequence, ElementsAre(0, 1, 0));
}

TEST(Choose, ListsOfProgramsBecomePools) {
  HostRequest request;
  request.list = *parse_host_list("a:2,b,a");
  ASSERT_TRUE(choose(request));
  EXPECT_TRUE(choose(request)->pools.empty());
  const auto own = parse_host_list("c,a:4,b:*,c");
  for (HostEntry entry : *own) {
    entry.pool = 1;
    request.list.push_back(entry);
  }
  auto allocation = choose(request);
  ASSERT_TRUE(allocation);
  ASSERT_EQ(allocation->pools.size(), 2U);
  EXPECT_EQ(allocation->hosts[0].slots, 7);
  EXPECT_THAT(allocation->pools[0].hosts, ElementsAre(0, 1));
  EXPECT_THAT(allocation->pools[0].slots, ElementsAre(3, 1));
  EXPECT_THAT(allocation->pools[1].hosts, ElementsAre(2, 0, 1));
  EXPECT_THAT(allocation->pools[1].sequence, ElementsAre(2, 0, 1, 2));
  EXPECT_EQ(allocation->pools[1].slots[0], 2);
  EXPECT_EQ(allocation->pools[1].slots[1], 4);
  request.exclude = "a";
  allocation = choose(request);
  ASSERT_TRUE(allocation);
  EXPECT_THAT(allocation->pools[0].hosts, ElementsAre(0));
  EXPECT_THAT(allocation->pools[1].hosts, ElementsAre(1, 0));
  EXPECT_THAT(allocation->pools[1].sequence, ElementsAre(1, 0, 1));
}

TEST(Choose, ConnectionOptionsApplyToHostsWithoutTheirOwn) {
  HostRequest request;
  request.agent_path = "/opt/agent";
  request.ssh_port = 2222;
  request.ssh_identity = "/key";
  request.hostfile =
      *parse_hostfile("localhost slots=1\na slots=1\nb slots=1 agent=/b port=22 identity=/own\n", "hosts");
  const auto allocation = choose(request);
  ASSERT_TRUE(allocation);
  EXPECT_EQ(allocation->hosts[0].reach.agent, "");
  EXPECT_EQ(allocation->hosts[1].reach.agent, "/opt/agent");
  EXPECT_EQ(allocation->hosts[2].reach.agent, "/b");
  EXPECT_EQ(allocation->hosts[0].reach, plan::Reach{});
  EXPECT_EQ(allocation->hosts[1].reach.port, 2222);
  EXPECT_EQ(allocation->hosts[1].reach.identity, "/key");
  EXPECT_EQ(allocation->hosts[2].reach.port, 22);
  EXPECT_EQ(allocation->hosts[2].reach.identity, "/own");
}

using settle::device_kind;
using settle::fill_slots;

wire::HostInfo facts_of(std::uint32_t cpus) {
  wire::HostInfo facts;
  facts.cpus = cpus;
  facts.cpus_from = "affinity mask";
  return facts;
}

plan::Host unknown_host() {
  plan::Host host;
  host.name = "a";
  host.slots_unknown = true;
  return host;
}

TEST(FillSlots, UsesCpusWithoutDevices) {
  plan::Host host = unknown_host();
  fill_slots(host, facts_of(6));
  EXPECT_FALSE(host.slots_unknown);
  EXPECT_EQ(host.slots, 6);
  EXPECT_EQ(host.slots_from, "affinity mask there");
}

TEST(FillSlots, UsesDevicesIfPresent) {
  plan::Host host = unknown_host();
  wire::HostInfo facts = facts_of(64);
  facts.device_kind = static_cast<std::uint8_t>(plan::DeviceKind::nvidia);
  facts.devices = {0, 1};
  facts.devices_from = "/dev/nvidia*";
  fill_slots(host, facts);
  EXPECT_EQ(host.slots, 2);
  EXPECT_THAT(host.devices, ElementsAre(0, 1));
  EXPECT_EQ(host.device_kind, plan::DeviceKind::nvidia);
}

TEST(FillSlots, NeverExceedsTheMaximum) {
  plan::Host host = unknown_host();
  host.max_slots = 3;
  fill_slots(host, facts_of(64));
  EXPECT_EQ(host.slots, 3);
}

TEST(FillSlots, KeepsTheUsersSlots) {
  plan::Host host;
  host.slots = 5;
  fill_slots(host, facts_of(64));
  EXPECT_EQ(host.slots, 5);
}

TEST(FillSlots, TreatsAnUnknownDeviceKindAsNoDevices) {
  wire::HostInfo facts = facts_of(1);
  facts.device_kind = 200;
  EXPECT_EQ(device_kind(facts), plan::DeviceKind::none);
}

}  // namespace
}  // namespace dlaunch::hosts
