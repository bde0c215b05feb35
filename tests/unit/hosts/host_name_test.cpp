#include "hosts/host_name.h"

#include "entries.h"

namespace dlaunch::hosts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(HostName, AcceptsHostNames) {
  for (const char* name : {"a", "01", "node_1", "mpi-worker.1", "A.b-C_d", "10.0.0.1", "::1", "fd00::5",
                           "::", "1:2:3:4:5:6:7:8", "::ffff:10.0.0.1", "fe80::1%eth0"}) {
    EXPECT_TRUE(check_host_name(name)) << name;
  }
}

TEST(HostName, RejectsSpecialCharactersOfShellsAndOptions) {
  for (const char* name : {"",
                           "-oProxyCommand=x",
                           ".",
                           "a b",
                           "a;b",
                           "$(a)",
                           "`a`",
                           "a|b",
                           "a&b",
                           "a>b",
                           "a/b",
                           "a\\b",
                           "a'b",
                           "a\"b",
                           "a\nb",
                           "a*",
                           "~a",
                           "^a",
                           "+n0",
                           "a:b",
                           "1:2:3",
                           "1::2::3",
                           ":::",
                           "12345::",
                           "1:2:3:4:5:6:7:8:9",
                           "::1%",
                           "::1%a;b",
                           "::256.0.0.1",
                           "g\xC3\xB6"}) {
    EXPECT_FALSE(check_host_name(name)) << name;
  }
  EXPECT_FALSE(check_host_name(std::string(254, 'a')));
}

TEST(HostName, RangesKeepTheWidthOfTheirFirstNumber) {
  EXPECT_THAT(*expand_names("node[01-03,20]"), ElementsAre("node01", "node02", "node03", "node20"));
  EXPECT_THAT(*expand_names("n[9-11]x"), ElementsAre("n9x", "n10x", "n11x"));
  EXPECT_THAT(*expand_names("r[1-2]n[3,4]"), ElementsAre("r1n3", "r1n4", "r2n3", "r2n4"));
  EXPECT_THAT(*expand_names("plain"), ElementsAre("plain"));
}

TEST(HostName, RejectsMalformedRanges) {
  for (const char* pattern : {"n[", "n[]", "n[1", "n[1-]", "n[-1]", "n[2-1]", "n[a-b]", "n[1,]", "n]", "n[1]]", "n[[1]",
                              "n[1-99999999]", "[1-1000][1-1000]", "n[0-100000]"}) {
    EXPECT_FALSE(expand_names(pattern)) << pattern;
  }
  EXPECT_EQ(expand_names("n[1-100000]")->size(), kMostHosts);
  EXPECT_THAT(error_of(expand_names("n[5-1]")), HasSubstr("5-1"));
}

TEST(HostName, ParsesUserNamesAndCount) {
  const auto word = parse_host_word("me@n[1-2]:8");
  EXPECT_EQ(word->user, "me");
  EXPECT_THAT(word->names, ElementsAre("n1", "n2"));
  EXPECT_EQ(word->count, "8");
  EXPECT_THAT(parse_host_word("me@[::1]:4")->names, ElementsAre("::1"));
  EXPECT_EQ(parse_host_word("[::1]:4")->count, "4");
  EXPECT_FALSE(parse_host_word("fd00::5")->has_count);
  EXPECT_THAT(parse_host_word("[fd00::5]")->names, ElementsAre("fd00::5"));
  for (const char* bad : {"", "@a", "-u@a", "u;v@a", "[::1]4", "[::1", "[1-2]]", "me@"}) {
    EXPECT_FALSE(parse_host_word(bad)) << bad;
  }
  EXPECT_EQ(parse_host_word("u@corp@a")->user, "u@corp");
}

}  // namespace
}  // namespace dlaunch::hosts
