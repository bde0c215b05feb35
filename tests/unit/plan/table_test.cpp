#include "plan/table.h"

#include <gtest/gtest.h>

namespace dlaunch::plan {
namespace {

TEST(Table, AlignsByColumnsNotBytes) {
  EXPECT_EQ(aligned({{"a", "long", "x"}, {"größe", "b", "y"}}, "> "), "> a      long  x\n> größe  b     y\n");
  EXPECT_EQ(aligned({}, ""), "");
}

TEST(Table, ShortensWholeCharacters) {
  EXPECT_EQ(shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(shorten("abcdefg", 6), "abcde…");
  EXPECT_EQ(shorten("ääää", 3), "ää…");
  EXPECT_EQ(shorten("ä", 1), "ä");
}

TEST(Table, WrapsBetweenWords) {
  EXPECT_EQ(wrapped({"aa", "bb", "cc"}, " ", 6), " aa bb\n cc\n");
  EXPECT_EQ(wrapped({"much-too-long", "b"}, "", 5), "much-too-long\nb\n");
  EXPECT_EQ(wrapped({}, "", 5), "");
}

}  // namespace
}  // namespace dlaunch::plan
