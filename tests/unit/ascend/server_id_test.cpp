#include "ascend/tables/address.h"

#include <gmock/gmock.h>

namespace dlaunch::ranktable {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<OwnAddress> kOwn = {
    {"docker0", "172.17.0.1"}, {"eth1", "fd00::1"}, {"eth0", "10.0.0.1"}, {"ib0", "10.1.0.1"}};

TEST(ServerId, ParsesInterfaces) {
  const auto own = parse_interfaces({"eth0 10.0.0.1", "eth0:1 fd00::1", "nonsense"});
  ASSERT_EQ(own.size(), 2u);
  EXPECT_EQ(own[1].interface, "eth0:1");
  EXPECT_EQ(own[1].address, "fd00::1");
  std::vector<std::string> outer;
  for (const OwnAddress& each : outer_addresses(kOwn)) outer.push_back(each.address);
  EXPECT_THAT(outer, ElementsAre("10.0.0.1", "10.1.0.1", "fd00::1"));
  EXPECT_THAT(outer_addresses({{"lo", "127.0.0.1"}, {"x", "no address"}}), IsEmpty());
}

TEST(ServerId, UsesTheGivenThenTheResolvedThenTheOwnAddress) {
  EXPECT_EQ(server_id_of({"10.9.9.9", {"10.0.0.1"}, kOwn}, false), "10.9.9.9");
  EXPECT_EQ(server_id_of({"node1", {"10.8.8.8", "10.1.0.1"}, kOwn}, false), "10.1.0.1");
  EXPECT_EQ(server_id_of({"node1", {"10.8.8.8"}, kOwn}, false), "10.8.8.8");
  EXPECT_EQ(server_id_of({"node1", {"127.0.1.1"}, kOwn}, false), "10.0.0.1");
  EXPECT_EQ(server_id_of({"127.0.0.1", {}, kOwn}, false), "10.0.0.1");
}

TEST(ServerId, UsesLoopbackForASingleHost) {
  EXPECT_EQ(server_id_of({"node1", {"127.0.1.1"}, {}}, true), "127.0.0.1");
  EXPECT_EQ(server_id_of({"node1", {"127.0.1.1"}, {}}, false), std::nullopt);
}

}  // namespace
}  // namespace dlaunch::ranktable
