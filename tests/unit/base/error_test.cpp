#include "dlaunch/error.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(ErrorText, OmitsColonsOfEmptyParts) {
  EXPECT_EQ(to_text({"hosts:1:2", "unknown key", "", "write slots=8"}),
            "dlaunch: hosts:1:2: unknown key\ndlaunch:   write slots=8\n");
  EXPECT_EQ(to_text({"", "no room", "disk full", ""}), "dlaunch: no room: disk full\n");
}

TEST(ErrorText, EscapesControlSequences) {
  EXPECT_EQ(to_text({"hosts:1:1", "unknown key \"a\x1b]0;title\x07\"", "", ""}),
            "dlaunch: hosts:1:1: unknown key \"a\\x1b]0;title\\x07\"\n");
}

TEST(ErrorText, IndentsFollowingLinesOfACause) {
  EXPECT_EQ(to_text({"node1", "cannot connect", "first\nsecond\nthird", "see ssh -v"}),
            "dlaunch: node1: cannot connect: first\n  second\n  third\ndlaunch:   see ssh -v\n");
  EXPECT_EQ(to_text({"", "what", "ends\n", ""}), "dlaunch: what: ends\n");
}

TEST(ErrorText, KeepsTheLinesOfATable) { EXPECT_EQ(to_text({"", "host\nnode1", "", ""}), "dlaunch: host\nnode1\n"); }

}  // namespace
}  // namespace dlaunch
