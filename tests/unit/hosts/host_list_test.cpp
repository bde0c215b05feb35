#include "dlaunch/hostfile.h"

#include "entries.h"

namespace dlaunch::hosts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> parse(std::string_view text) {
  const auto entries = parse_host_list(text);
  EXPECT_TRUE(entries) << to_text(entries.error());
  return entries ? short_forms(*entries) : std::vector<std::string>{};
}

std::string error(std::string_view text) { return error_of(parse_host_list(text)); }

TEST(HostList, ReadsNamesSlotsAndRanges) {
  EXPECT_THAT(parse("a:8,b:8"), ElementsAre("a:8", "b:8"));
  EXPECT_THAT(parse("a,a,b"), ElementsAre("a:1", "a:1", "b:1"));
  EXPECT_THAT(parse("node[1-2,4]:8,x"), ElementsAre("node1:8", "node2:8", "node4:8", "x:1"));
  EXPECT_THAT(parse("a:2, b_c:0 "), ElementsAre("a:2", "b_c:0"));
  EXPECT_THAT(parse("a:*,b:auto,c:-1"), ElementsAre("a:*", "b:*", "c:*"));
  EXPECT_THAT(parse("[::1]:4,fd00::5,10.0.0.1:2"), ElementsAre("::1:4", "fd00::5:1", "10.0.0.1:2"));
}

TEST(HostList, ReadsUsers) {
  const auto entries = parse_host_list("me@[::1]:4");
  EXPECT_EQ(entries->at(0).reach.user, "me");
  EXPECT_EQ(entries->at(0).name, "::1");
  EXPECT_EQ(entries->at(0).slots, 4);
  EXPECT_EQ(entries->at(0).from, "-H");
}

TEST(HostList, RejectsTextThatOpenMpiMisreads) {
  EXPECT_THAT(error(""), HasSubstr("missing host"));
  EXPECT_THAT(error("a,,b"), HasSubstr("missing host before or after a comma"));
  EXPECT_THAT(error("a,"), HasSubstr("missing host before or after a comma"));
  for (const char* text : {"a:", "a:abc", "a:2:2", "a:+2", "a:-2", "a: 2", "a:99999999"}) {
    EXPECT_THAT(error(text), HasSubstr("number of slots")) << text;
  }
  for (const char* text : {"+n0", "+e", "-a", "a b", "a;b", "a/b"}) EXPECT_THAT(error(text), HasSubstr("host name"));
}

}  // namespace
}  // namespace dlaunch::hosts
