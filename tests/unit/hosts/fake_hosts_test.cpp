#include "hosts/named.h"

#include "entries.h"

namespace dlaunch::hosts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FakeHosts, ReadsHostsAndSlots) {
  const auto two = parse_fake_hosts("2x4");
  ASSERT_TRUE(two);
  EXPECT_THAT(short_forms(*two), ElementsAre("fake1:4", "fake2:4"));
  EXPECT_EQ(two->at(1).reach.address, "127.0.0.2");
  EXPECT_THAT(two->at(1).env, ElementsAre("DLAUNCH_FAKE_HOST=fake2"));
  EXPECT_THAT(short_forms(*parse_fake_hosts("1")), ElementsAre("fake1:1"));
  EXPECT_EQ(parse_fake_hosts("254x1")->back().reach.address, "127.0.0.254");
}

TEST(FakeHosts, RejectsOtherText) {
  for (const char* const text : {"", "x", "2x", "x4", "0x4", "2x0", "255x1", "2x4x1", "-1x1", "2 x 4", "two", "2X4"}) {
    EXPECT_THAT(error_of(parse_fake_hosts(text)), HasSubstr("such as 2x4")) << text;
  }
}

}  // namespace
}  // namespace dlaunch::hosts
