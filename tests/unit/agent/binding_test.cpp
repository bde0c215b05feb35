#include "agent/binding.h"

#include <gmock/gmock.h>

#include "../machine/fake_root.h"
#include "dlaunch/host.h"

namespace dlaunch::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const plan::Topology kTwoNodes = {.pus = {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 1, 1}, {3, 3, 1, 1}}};

machine::FakeRoot& add_ascend(machine::FakeRoot& root, int device, const std::string& node) {
  const std::string address = "0000:0" + std::to_string(device) + ":00.0";
  return root.file("sys/bus/pci/drivers/devdrv_device_driver/" + address + "/dev_id", std::to_string(device))
      .file("sys/bus/pci/devices/" + address + "/numa_node", node);
}

wire::Layout layout_of(plan::DeviceKind kind, std::vector<std::uint32_t> devices) {
  wire::Layout layout;
  layout.device_kind = static_cast<std::uint8_t>(kind);
  layout.devices = std::move(devices);
  return layout;
}

TEST(NearDevices, EachRankGetsTheCpusOfItsDevicesNode) {
  machine::FakeRoot root;
  add_ascend(add_ascend(root, 4, "1"), 5, "0");
  const auto near = bind_near_devices(kTwoNodes, layout_of(plan::DeviceKind::ascend, {4, 5, 4}), root.path());
  EXPECT_THAT(near.cpus, ElementsAre(ElementsAre(2, 3), ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_EQ(near.note, "");
}

TEST(NearDevices, UnknownDevicesAreNotBoundWithANote) {
  machine::FakeRoot root;
  add_ascend(add_ascend(add_ascend(root, 0, "-1"), 1, "0"), 2, "7");
  const auto near =
      bind_near_devices(kTwoNodes, layout_of(plan::DeviceKind::ascend, {0, 1, 2, 3, wire::kNoDevice}), root.path());
  EXPECT_THAT(near.cpus, ElementsAre(IsEmpty(), ElementsAre(0, 1), IsEmpty(), IsEmpty(), IsEmpty()));
  EXPECT_EQ(near.note,
            "the ranks of devices 0,3 are not bound: unknown NUMA node; the rank of device 2 is not "
            "bound: dlaunch is not allowed to use the CPUs of the NUMA node");
  EXPECT_EQ(bind_near_devices(kTwoNodes, layout_of(plan::DeviceKind::none, {wire::kNoDevice}), root.path()).note,
            "ranks with unknown devices are not bound");
  EXPECT_EQ(bind_near_devices(kTwoNodes, layout_of(static_cast<plan::DeviceKind>(99), {1}), root.path()).cpus,
            (std::vector<std::vector<std::uint32_t>>{{}}));
}

}  // namespace
}  // namespace dlaunch::agent
