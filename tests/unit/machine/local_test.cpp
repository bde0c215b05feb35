#include "machine/local.h"

#include <gmock/gmock.h>

#include "fake_root.h"
#include "sys/inherited.h"

namespace dlaunch::machine {
namespace {

using plan::DeviceKind;
using testing::ElementsAre;
using testing::IsEmpty;

MachineFacts facts() {
  return {.host_name = "box", .affinity_cpus = 8, .quota = {}, .nvidia = {}, .ascend = {}, .amd = {}};
}

plan::Host host_from(const MachineFacts& facts, const std::vector<std::string>& environment,
                     std::optional<int> fake = {}) {
  const plan::Allocation allocation = allocation_from(facts, environment, fake);
  EXPECT_EQ(allocation.hosts.size(), 1U);
  EXPECT_FALSE(allocation.slots_are_limits);
  return allocation.hosts.at(0);
}

TEST(Local, CpusAreTheSmallerOfMaskAndQuota) {
  MachineFacts machine = facts();
  EXPECT_EQ(host_from(machine, {}).slots, 8);
  EXPECT_EQ(host_from(machine, {}).slots_from, "affinity mask");
  machine.quota = CpuQuota{.cpus = 3, .from = "cgroup cpu.max"};
  EXPECT_EQ(host_from(machine, {}).slots, 3);
  EXPECT_EQ(host_from(machine, {}).slots_from, "cgroup cpu.max");
  machine.quota->cpus = 8;
  EXPECT_EQ(host_from(machine, {}).slots_from, "affinity mask");
}

TEST(Local, IgnoresVisibleDevicesWithoutDevices) {
  const plan::Host host = host_from(facts(), {"CUDA_VISIBLE_DEVICES=0,1"});
  EXPECT_EQ(host.name, "box");
  EXPECT_TRUE(host.local);
  EXPECT_EQ(host.device_kind, DeviceKind::none);
  EXPECT_THAT(host.devices, IsEmpty());
  EXPECT_EQ(host.devices_from, "");
}

TEST(Local, CudaVisibleDevicesRestrictsNvidiaDevices) {
  MachineFacts machine = facts();
  machine.nvidia = {0, 1, 2, 3};
  EXPECT_EQ(host_from(machine, {}).devices_from, "/dev/nvidia*");
  const plan::Host host =
      host_from(machine, {"CUDA_VISIBLE_DEVICES=0", "HIP_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=3,1"});
  EXPECT_EQ(host.device_kind, DeviceKind::nvidia);
  EXPECT_THAT(host.devices, ElementsAre(3, 1));
  EXPECT_EQ(host.devices_from, "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(host_from(machine, {"CUDA_VISIBLE_DEVICES="}).device_kind, DeviceKind::none);
  EXPECT_EQ(host_from(machine, {"CUDA_VISIBLE_DEVICES=GPU-12,GPU-34"}).devices_from,
            "CUDA_VISIBLE_DEVICES with UUIDs; the numbers are positions in the list");
}

TEST(Local, AscendVisibleDevicesRestrictAscendDevices) {
  MachineFacts machine = facts();
  machine.ascend = {4, 5, 6, 7};
  EXPECT_THAT(host_from(machine, {"ASCEND_RT_VISIBLE_DEVICES=5-7", "CUDA_VISIBLE_DEVICES="}).devices,
              ElementsAre(5, 6, 7));
  EXPECT_EQ(host_from(machine, {}).device_kind, DeviceKind::ascend);
}

TEST(Local, AmdIsRestrictedTwiceAndKeepsTheMachinesNumbers) {
  MachineFacts machine = facts();
  machine.amd = {0, 1, 2, 3};
  EXPECT_THAT(host_from(machine, {"ROCR_VISIBLE_DEVICES=2,3"}).devices, ElementsAre(2, 3));
  EXPECT_EQ(host_from(machine, {"ROCR_VISIBLE_DEVICES=2,3"}).devices_from, "ROCR_VISIBLE_DEVICES");
  const plan::Host host =
      host_from(machine, {"HIP_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=2,3", "CUDA_VISIBLE_DEVICES=0"});
  EXPECT_THAT(host.devices, ElementsAre(3));
  EXPECT_EQ(host.devices_from, "HIP_VISIBLE_DEVICES");
  EXPECT_THAT(host_from(machine, {"CUDA_VISIBLE_DEVICES=1"}).devices, ElementsAre(1));
  EXPECT_THAT(host_from(machine, {"HIP_VISIBLE_DEVICES=GPU-1,GPU-2,GPU-3,GPU-4,GPU-5"}).devices,
              ElementsAre(0, 1, 2, 3));
}

TEST(Local, UsesTheNextKindIfAKindIsHidden) {
  MachineFacts machine = facts();
  machine.nvidia = {0};
  machine.amd = {0};
  EXPECT_EQ(host_from(machine, {}).device_kind, DeviceKind::nvidia);
  EXPECT_EQ(host_from(machine, {"CUDA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=0"}).device_kind, DeviceKind::amd);
}

TEST(Local, FakeDevicesReplaceAllDevicesAndAreRestrictedByNumber) {
  MachineFacts machine = facts();
  machine.nvidia = {0, 1};
  const plan::Host host = host_from(machine, {"CUDA_VISIBLE_DEVICES=2,1"}, 3);
  EXPECT_EQ(host.device_kind, DeviceKind::fake);
  EXPECT_THAT(host.devices, ElementsAre(2, 1));
  EXPECT_EQ(host.devices_from, "CUDA_VISIBLE_DEVICES");
  for (const char* other : {"CUDA_VISIBLE_DEVICES=GPU-8f6d", "CUDA_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=3"}) {
    EXPECT_THAT(host_from(machine, {other}, 3).devices, ElementsAre(0, 1, 2)) << other;
    EXPECT_EQ(host_from(machine, {other}, 3).devices_from, "--fake-devices");
  }
  EXPECT_EQ(host_from(machine, {}, 0).device_kind, DeviceKind::none);
}

TEST(Machine, ReadsDevicesFromFiles) {
  FakeRoot root;
  for (const char* name : {"nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "nvidia2x", "davinci10", "davinci9",
                           "davinci_manager", "null"}) {
    root.file(std::string("dev/") + name);
  }
  const auto machine = read_machine(root.path());
  ASSERT_TRUE(machine) << to_text(machine.error());
  EXPECT_THAT(machine->nvidia, ElementsAre(0, 1));
  EXPECT_THAT(machine->ascend, ElementsAre(9, 10));
  EXPECT_THAT(machine->amd, IsEmpty());
}

TEST(Machine, AmdGpusAreTopologyNodesWithAnId) {
  FakeRoot root;
  root.file("dev/kfd").file("dev/dri/renderD128").file("dev/dri/card0");
  root.file("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
  root.file("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "41230\n");
  root.file("sys/class/kfd/kfd/topology/nodes/2/gpu_id", "5124\n");
  root.file("sys/class/kfd/kfd/topology/nodes/3/name", "no gpu_id: outside this container");
  EXPECT_THAT(read_machine(root.path())->amd, ElementsAre(0, 1));
}

TEST(Machine, AmdGpusAreRenderNodesIfSysfsIsHidden) {
  FakeRoot root;
  root.file("dev/dri/renderD128").file("dev/dri/renderD129").file("dev/dri/card0");
  EXPECT_THAT(read_machine(root.path())->amd, IsEmpty()) << "a display without the compute driver";
  root.file("dev/kfd");
  EXPECT_THAT(read_machine(root.path())->amd, ElementsAre(0, 1));
}

TEST(Machine, CoresAreCountedByTheirThreads) {
  FakeRoot root;
  const auto cpus = sys::affinity_of(0).value();
  for (const std::uint32_t cpu : cpus) {
    root.file("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", "0-999\n");
  }
  EXPECT_EQ(count_cores(root.path()), 1);
  EXPECT_EQ(count_cores(FakeRoot{}.path()), read_machine("")->affinity_cpus) << "if the kernel does not report cores";
  EXPECT_LE(local_allocation({}, {}, Count::cores)->hosts.at(0).slots, read_machine("")->affinity_cpus);
}

TEST(Machine, AcceptsAnEmptyRoot) {
  const FakeRoot root;
  const auto machine = read_machine(root.path());
  ASSERT_TRUE(machine);
  EXPECT_GE(machine->affinity_cpus, 1);
  EXPECT_NE(machine->host_name, "");
  EXPECT_FALSE(machine->quota);
}

TEST(Machine, ReadsThisMachine) {
  const auto allocation = local_allocation({}, {});
  ASSERT_TRUE(allocation) << to_text(allocation.error());
  EXPECT_GE(allocation->hosts.at(0).slots, 1);
}

}  // namespace
}  // namespace dlaunch::machine
