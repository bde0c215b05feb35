#include "machine/local.h"

#include <gmock/gmock.h>

#include "fake_root.h"

namespace dlaunch::machine {
namespace {

using plan::DeviceKind;
using Nodes = std::vector<std::optional<int>>;

constexpr auto kUnknown = std::nullopt;

void add_numa(FakeRoot& root, const std::string& address, const std::string& node) {
  root.file("sys/bus/pci/devices/" + address + "/numa_node", node + "\n");
}

void add_nvidia(FakeRoot& root, const std::string& address, int minor, const std::string& node) {
  root.file("proc/driver/nvidia/gpus/" + address + "/information",
            "Model: \t\t NVIDIA\nBus Location: \t " + address + "\nDevice Minor: \t " + std::to_string(minor) + "\n");
  add_numa(root, address, node);
}

TEST(DeviceNodes, NvidiaInTheOrderOfPciAddresses) {
  FakeRoot root;
  add_nvidia(root, "0000:86:00.0", 0, "1");
  add_nvidia(root, "0000:3b:00.0", 1, "0");
  root.file("dev/nvidia0").file("dev/nvidia1").file("dev/nvidiactl");
  EXPECT_EQ(device_nodes(root.path(), DeviceKind::nvidia, {0, 1, 2}), (Nodes{0, 1, kUnknown}));
  EXPECT_EQ(device_nodes(root.path(), DeviceKind::nvidia, {1, 0, -1}), (Nodes{1, 0, kUnknown}));
}

TEST(DeviceNodes, SkipsNvidiaDevicesOutsideTheContainer) {
  FakeRoot root;
  add_nvidia(root, "0000:3b:00.0", 0, "0");
  add_nvidia(root, "0000:86:00.0", 1, "1");
  root.file("dev/nvidia1");
  EXPECT_EQ(device_nodes(root.path(), DeviceKind::nvidia, {0}), (Nodes{1}));
}

TEST(DeviceNodes, AscendByTheDriversNumbers) {
  FakeRoot root;
  const std::string driver = "sys/bus/pci/drivers/devdrv_device_driver/";
  root.file(driver + "0000:01:00.0/dev_id", "3\n").file(driver + "0000:c1:00.0/dev_id", "0\n").file(driver + "bind");
  add_numa(root, "0000:01:00.0", "0");
  add_numa(root, "0000:c1:00.0", "6");
  EXPECT_EQ(device_nodes(root.path(), DeviceKind::ascend, {0, 3, 1}), (Nodes{6, 0, kUnknown}));
  EXPECT_EQ(device_nodes(root.path(), DeviceKind::named, {3}), (Nodes{0}));
}

TEST(DeviceNodes, AmdInTheOrderOfTheKfdsNodes) {
  FakeRoot root;
  const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
  root.file(nodes + "0/gpu_id", "0\n").file(nodes + "0/properties", "location_id 0\n");
  root.file(nodes + "2/gpu_id", "77\n").file(nodes + "2/properties", "simd_count 4\nlocation_id 33536\ndomain 0\n");
  root.file(nodes + "10/gpu_id", "78\n").file(nodes + "10/properties", "location_id 768\ndomain 1\n");
  add_numa(root, "0000:83:00.0", "1");
  add_numa(root, "0001:03:00.0", "0");
  EXPECT_EQ(device_nodes(root.path(), DeviceKind::amd, {0, 1}), (Nodes{1, 0}));
}

TEST(DeviceNodes, UnknownWithoutANodeInTheKernel) {
  FakeRoot root;
  add_nvidia(root, "0000:3b:00.0", 0, "-1");
  root.file("dev/nvidia0");
  EXPECT_EQ(device_nodes(root.path(), DeviceKind::nvidia, {0}), (Nodes{kUnknown}));
  EXPECT_EQ(device_nodes(root.path(), DeviceKind::fake, {0}), (Nodes{kUnknown}));
  EXPECT_EQ(device_nodes(root.path(), DeviceKind::amd, {0}), (Nodes{kUnknown}));
  EXPECT_EQ(device_nodes(root.path(), DeviceKind::none, {}), (Nodes{}));
}

}  // namespace
}  // namespace dlaunch::machine
