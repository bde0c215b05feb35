#include "pmix/collectives.h"

#include <gmock/gmock.h>

namespace dlaunch::pmix {
namespace {

using testing::ElementsAre;

TEST(PmixMembers, WritesEqualTextForEqualMembersInAnyOrder) {
  EXPECT_EQ(write_members({{"job", kAllRanks}}), "job:*");
  EXPECT_EQ(write_members({{"job", 7}, {"job", 1}, {"job", 0}, {"job", 2}, {"job", 1}}), "job:0-2,7");
  EXPECT_EQ(write_members({{"b", 1}, {"a", kAllRanks}, {"b", 3}}), "a:* b:1,3");
}

TEST(PmixMembers, RoundTrip) {
  const auto parsed = parse_members("a:* b:0-2,7");
  ASSERT_TRUE(parsed);
  EXPECT_THAT(*parsed, ElementsAre(Members{"a", true, {}}, Members{"b", false, {{0, 2}, {7, 7}}}));
}

TEST(PmixMembers, RejectsMalformedText) {
  for (const char* text : {"", "a", "a:", ":1", "a:x", "a:1-", "a:3-1", "a:2,1", "a:1,1", "a:4294967295", "a:1  b:2"}) {
    EXPECT_FALSE(parse_members(text)) << text;
  }
  EXPECT_FALSE(parse_members("a:" + std::string(kMaxMembers, '1')));
}

}  // namespace
}  // namespace dlaunch::pmix
