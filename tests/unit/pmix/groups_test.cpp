
#include <gtest/gtest.h>

#include "pmix/collectives.h"

namespace dlaunch::pmix {
namespace {

using namespace std::string_literals;

TEST(Groups, JoinsTheGreatestNumberAndAllData) {
  const std::string parts =
      write_group_part({65536, "a\0b"s}) + write_group_part({1ULL << 40, ""}) + write_group_part({7, "c"});
  const auto whole = join_group_parts(parts);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->number, 1ULL << 40);
  EXPECT_EQ(whole->data, "a\0bc"s);
}

TEST(Groups, RejectsMalformedParts) {
  const std::string part = write_group_part({1, "data"});
  EXPECT_FALSE(join_group_parts(""));
  for (size_t size = 1; size < part.size(); ++size) EXPECT_FALSE(join_group_parts(part.substr(0, size))) << size;
  EXPECT_FALSE(join_group_parts(part + "x"));
  EXPECT_FALSE(join_group_parts(std::string(16, '\xff')));
}

TEST(Groups, MarkDistinguishesCollectivesAndIsNotAMember) {
  const std::string members = write_members({{"job", 0}, {"job", 1}});
  EXPECT_EQ(group_mark("a b\xff"), " #612062ff");
  EXPECT_EQ(parse_members(members + group_mark("x")), parse_members(members));
  EXPECT_FALSE(parse_members("#78"));

  Collectives two_hosts;
  two_hosts.add_world("job", {0, 1});
  EXPECT_EQ(two_hosts.take(0, 3, members + group_mark("x"), "1"), "");
  EXPECT_EQ(two_hosts.take(0, 3, members + group_mark("y"), "2"), "");
  EXPECT_EQ(two_hosts.take(1, 3, members + group_mark("y"), "3"), "");
  const auto over = two_hosts.take_over();
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].members, members + group_mark("y"));
  EXPECT_EQ(over[0].data, "23");
}

}  // namespace
}  // namespace dlaunch::pmix
