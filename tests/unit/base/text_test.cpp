#include "base/text.h"

#include <gmock/gmock.h>

#include <climits>

namespace dlaunch {
namespace {

using testing::ElementsAre;

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Text, TrimRemovesOuterWhitespace) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, ParseIntAcceptsWholeNumbersInRangeOnly) {
  EXPECT_EQ(parse_int("12", 0, 100), 12);
  for (const char* bad : {"", "12x", "-1", "101", "1.5", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_int(bad, 0, 100)) << bad;
  }
}

TEST(Text, ParsesAndFoldsIntLists) {
  EXPECT_EQ(parse_int_list("0,3-5", 10), (std::set<int>{0, 3, 4, 5}));
  EXPECT_EQ(fold_ints({0, 3, 4, 5, 9}), "0,3-5,9");
  EXPECT_EQ(fold_ints({}), "");
  EXPECT_EQ(fold_ints({INT_MAX - 1, INT_MAX}), "2147483646-2147483647");
  for (const char* bad : {"", "5-3", "1,", "a", "1-", "11", "-3"}) EXPECT_FALSE(parse_int_list(bad, 10)) << bad;
}

TEST(Text, FoldsHostNames) {
  EXPECT_EQ(fold_names({"n1", "n2", "n3", "login", "n07"}), "n[1-3],login,n07");
  EXPECT_EQ(fold_names({"node08", "node09", "node10"}), "node[08-09],node10");
  EXPECT_EQ(fold_names({"gpu1.rack1", "gpu2.rack1", "gpu2.rack2"}), "gpu[1-2].rack1,gpu2.rack2");
  EXPECT_EQ(fold_names({"10.0.0.3", "10.0.0.4"}), "10.0.0.[3-4]");
  EXPECT_EQ(fold_names({"fe80::1", "fe80::2", "::"}), "fe80::[1-2],::");
  EXPECT_EQ(fold_names({"n99999999999", ".5", ""}), "n99999999999,.5,");
  EXPECT_EQ(fold_names({}), "");
}

TEST(Text, NearestFindsTyposOnly) {
  const std::vector<std::string> known = {"hostfile", "host", "timeout", "stdin"};
  EXPECT_EQ(nearest("hostflie", known), "hostfile");
  EXPECT_EQ(nearest("timout", known), "timeout");
  EXPECT_EQ(nearest("hsot", known), "host");
  EXPECT_FALSE(nearest("zzzzzz", known));
}

TEST(Text, ShellQuoteProtectsSpecialCharacters) {
  EXPECT_EQ(shell_quote("plain-1.2/x"), "plain-1.2/x");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b'c"), "'a b'\\''c'");
}

}  // namespace
}  // namespace dlaunch
