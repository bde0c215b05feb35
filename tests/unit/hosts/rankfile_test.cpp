#include "hosts/rankfile.h"

#include "entries.h"

namespace dlaunch::hosts {
namespace {

using testing::HasSubstr;

std::string error(std::string_view text) { return error_of(parse_rankfile(text, "ranks")); }

TEST(Rankfile, ReadsPlacesInOrder) {
  const auto places =
      parse_rankfile("# x\nrank 1=b slot=0-2,5\r\nrank 0 = a.x_y slot=*\nrank 2=+n1\nrank 3=[::1]", "ranks");
  ASSERT_TRUE(places) << to_text(places.error());
  ASSERT_EQ(places->size(), 4U);
  EXPECT_EQ(places->at(0).rank, 1);
  EXPECT_EQ(places->at(0).host, "b");
  EXPECT_EQ(places->at(0).slots, "0-2,5");
  EXPECT_EQ(places->at(0).from, "ranks:2");
  EXPECT_EQ(places->at(1).host, "a.x_y");
  EXPECT_EQ(places->at(1).slots, "");
  EXPECT_EQ(places->at(2).host, "+n1");
  EXPECT_EQ(places->at(3).host, "::1");
}

TEST(Rankfile, ErrorsHaveLineColumnAndReason) {
  EXPECT_THAT(error(""), HasSubstr("ranks: missing rank"));
  EXPECT_THAT(error("a slots=2\n"), HasSubstr("ranks:1:1: invalid line: expected rank 0=node1"));
  EXPECT_THAT(error("rank x=a\n"), HasSubstr("ranks:1:6: invalid line"));
  EXPECT_THAT(error("rank 0 a\n"), HasSubstr("invalid line"));
  EXPECT_THAT(error("rank 0=a slot=1,x\n"), HasSubstr("ranks:1:15: invalid CPU list \"1,x\": invalid part \"x\""));
  EXPECT_THAT(error("rank 0=a slots=1\n"), HasSubstr("invalid line"));
  EXPECT_THAT(error("rank 0=a slot=1 x\n"), HasSubstr("ranks:1:17: invalid line"));
  EXPECT_THAT(error("rank 0=n[1-2]\n"), HasSubstr("one host"));
  EXPECT_THAT(error("rank 0=-a\n"), HasSubstr("invalid host name"));
}

}  // namespace
}  // namespace dlaunch::hosts
