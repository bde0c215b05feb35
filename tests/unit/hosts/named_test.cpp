#include "hosts/named.h"

#include "dlaunch/hostfile.h"
#include "entries.h"
#include "hosts/device_filter.h"

namespace dlaunch::hosts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

plan::Host here(int devices = 0) {
  plan::Host host;
  host.name = "vm";
  host.local = true;
  host.slots = 6;
  host.slots_from = "affinity mask";
  if (devices > 0) host.device_kind = plan::DeviceKind::nvidia, host.devices_from = "/dev/nvidia*";
  for (int i = 0; i < devices; ++i) host.devices.push_back(i);
  return host;
}

bool is_here(const std::string& name) { return name == "vm" || name == "localhost" || name == "127.0.0.1"; }

Result<plan::Allocation> from_file(std::string_view text, int devices = 0) {
  return allocation_of({*parse_hostfile(text, "hosts"), Repeated::one_slot_each}, here(devices), is_here);
}

Result<plan::Allocation> from_list(std::string_view text, int devices = 0) {
  return allocation_of({*parse_host_list(text), Repeated::slots_add_up}, here(devices), is_here);
}

/// "a:2", "a:?" for unknown slots, "a:2 local".
std::vector<std::string> hosts(const Result<plan::Allocation>& allocation) {
  std::vector<std::string> forms;
  if (!allocation) return {to_text(allocation.error())};
  for (const plan::Host& host : allocation->hosts) {
    forms.push_back(host.name + ":" + (host.slots_unknown ? "?" : std::to_string(host.slots)) +
                    (host.local ? " local" : ""));
  }
  return forms;
}

TEST(Named, ListSlotsAddUpInTheUsersOrder) {
  EXPECT_THAT(hosts(from_list("a,b:2,a,a:3")), ElementsAre("a:5", "b:2"));
  EXPECT_THAT(from_list("a,b:2,a")->sequence, ElementsAre(0, 1, 0));
  EXPECT_TRUE(from_list("a")->slots_are_limits);
  EXPECT_THAT(hosts(from_list("b,vm:*,c:*")), ElementsAre("b:1", "vm:6 local", "c:?"));
}

TEST(Named, NamesOfThisMachineBecomeTheSameHost) {
  const auto allocation = from_list("a,localhost:2,vm:2,127.0.0.1");
  EXPECT_THAT(hosts(allocation), ElementsAre("a:1", "localhost:5 local"));
  EXPECT_THAT(allocation->hosts[1].other_names, ElementsAre("vm", "127.0.0.1"));
}

TEST(Named, DifferentUserOrPortIsADifferentHost) {
  EXPECT_THAT(hosts(from_list("a,me@a,vm,me@vm")), ElementsAre("a:1", "a:1", "vm:1 local", "vm:1"));
  EXPECT_THAT(hosts(from_file("localhost:2 port=2201\nlocalhost:2 port=2202\n")),
              ElementsAre("localhost:2", "localhost:2"));
}

TEST(Named, FileWithoutSlotsUsesCpusAndRepeatedLinesAddSlots) {
  EXPECT_THAT(hosts(from_file("vm\na\n")), ElementsAre("vm:6 local", "a:?"));
  EXPECT_THAT(hosts(from_file("vm\na\n", 2)), ElementsAre("vm:2 local", "a:?"));
  EXPECT_THAT(hosts(from_file("a\na\nb\nb\nb\n")), ElementsAre("a:2", "b:3"));
  EXPECT_THAT(hosts(from_file("a devices=0-3\n")), ElementsAre("a:4"));
}

TEST(Named, RejectsDuplicateHostsWithSlots) {
  EXPECT_THAT(error_of(from_file("a slots=2\nb\na slots=2\n")), HasSubstr("hosts:3: duplicate host \"a\""));
  EXPECT_THAT(error_of(from_file("vm slots=2\n127.0.0.1 slots=2\n")), HasSubstr("same host as vm in hosts:1"));
  EXPECT_THAT(error_of(from_file("a\na wdir=/x\n")), HasSubstr("duplicate host \"a\" with settings"));
}

TEST(Named, KeepsTheUsersSettings) {
  const auto allocation =
      from_file("vm slots=2 devices=1 env.A=1 wdir=/w\na slots=1 max_slots=4 devices=3,2 user=u\n", 4);
  ASSERT_TRUE(allocation) << to_text(allocation.error());
  const plan::Host& local = allocation->hosts[0];
  EXPECT_EQ(local.device_kind, plan::DeviceKind::nvidia);
  EXPECT_THAT(local.devices, ElementsAre(1));
  EXPECT_THAT(local.env, ElementsAre("A=1"));
  EXPECT_EQ(local.wdir, "/w");
  const plan::Host& other = allocation->hosts[1];
  EXPECT_EQ(other.device_kind, plan::DeviceKind::named);
  EXPECT_THAT(other.devices, ElementsAre(3, 2));
  EXPECT_EQ(other.devices_from, "hosts:2");
  EXPECT_EQ(other.reach.user, "u");
  EXPECT_EQ(other.max_slots, 4);
}

TEST(Named, SpareHostsAreTheLastOnes) {
  const auto found = from_file("a slots=1 spare\nb slots=1\nc slots=1 spare\nd slots=1\n");
  EXPECT_THAT(hosts(found), ElementsAre("b:1", "d:1", "a:1", "c:1"));
  EXPECT_THAT(found->sequence, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(found->hosts[1].replacement);
  EXPECT_TRUE(found->hosts[2].replacement);
  EXPECT_FALSE(from_file("a\na spare\n"));
}

TEST(Filter, IncludeKeepsNamedHosts) {
  auto allocation = from_list("a:4,vm:4,c:4,a", 4);
  ASSERT_TRUE(filter_devices(*allocation, Filter::include, "vm:2,0@a", is_here));
  EXPECT_THAT(hosts(allocation), ElementsAre("a:5", "vm:4 local"));
  EXPECT_THAT(allocation->hosts[1].devices, ElementsAre(2, 0));
  EXPECT_THAT(allocation->sequence, ElementsAre(0, 1, 0));
  auto named = from_list("n[1-3]:8");
  ASSERT_TRUE(filter_devices(*named, Filter::include, "n[1-2]:0-1", is_here));
  EXPECT_THAT(named->hosts[1].devices, ElementsAre(0, 1));
  EXPECT_THAT(hosts(named), ElementsAre("n1:8", "n2:8"));
}

TEST(Filter, ExcludeRemovesNamedHosts) {
  auto allocation = from_list("a:4,vm:4,c", 4);
  ASSERT_TRUE(filter_devices(*allocation, Filter::exclude, "vm:0,3@c", is_here));
  EXPECT_THAT(hosts(allocation), ElementsAre("a:4", "vm:4 local"));
  EXPECT_THAT(allocation->hosts[1].devices, ElementsAre(1, 2));
  ASSERT_TRUE(filter_devices(*allocation, Filter::exclude, "vm:1-2", is_here));
  EXPECT_THAT(hosts(allocation), ElementsAre("a:4"));
}

TEST(Filter, RecognizesThisMachineByOtherNames) {
  for (const char* name : {"localhost:0,2", "127.0.0.1:0,2", "vm:0,2"}) {
    auto allocation = from_list("a:4,vm:4", 4);
    ASSERT_TRUE(filter_devices(*allocation, Filter::include, name, is_here)) << name;
    EXPECT_THAT(hosts(allocation), ElementsAre("vm:4 local")) << name;
    EXPECT_THAT(allocation->hosts[0].devices, ElementsAre(0, 2)) << name;
  }
  auto elsewhere = from_list("a:4,b:4");
  EXPECT_THAT(error_of(filter_devices(*elsewhere, Filter::exclude, "localhost", is_here)),
              HasSubstr("unknown host \"localhost\""));
}

TEST(Filter, RejectsUnknownHostsAndDevices) {
  const auto error = [](Filter filter, std::string_view text) {
    auto allocation = from_list("node1:4,vm:4", 4);
    return error_of(filter_devices(*allocation, filter, text, is_here));
  };
  EXPECT_THAT(error(Filter::include, "node2"), HasSubstr("use node1"));
  EXPECT_THAT(error(Filter::include, "other"), HasSubstr("use node1,vm"));
  EXPECT_THAT(error(Filter::include, "vm:7"), HasSubstr("use devices 0-3"));
  EXPECT_THAT(error(Filter::include, "vm:1,1"), HasSubstr("duplicate device \"1\""));
  EXPECT_THAT(error(Filter::include, "vm@vm"), HasSubstr("duplicate host \"vm\""));
  EXPECT_THAT(error(Filter::include, "vm:x"), HasSubstr("list of devices"));
  EXPECT_THAT(error(Filter::include, "vm@"), HasSubstr("invalid host name"));
  EXPECT_THAT(error(Filter::exclude, "node1:0"), HasSubstr("missing devices of node1"));
  EXPECT_THAT(error(Filter::exclude, "node1@vm"), HasSubstr("no host is left"));
}

}  // namespace
}  // namespace dlaunch::hosts
