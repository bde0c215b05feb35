#include "base/printable.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(Printable, TextStays) {
  for (const char* text : {"", "plain\ttext", "Größe 日本 🙂", "\xc2\xa0"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAreSpelledOut) {
  EXPECT_EQ(printable("a\nb\x7f"), "a\\x0ab\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");  // the one-character form of ESC [
}

TEST(Printable, ColoursAreDropped) {
  EXPECT_EQ(printable("\x1b[1;31mred\x1b[m"), "red");
  EXPECT_EQ(printable("\x1b[31"), "\\x1b[31");
}

TEST(Printable, WhatIsNotUtf8IsSpelledOut) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");  // overlong
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe6\x97"), "\\xe6\\x97");  // cut short
}

TEST(Escaped, DropsNothing) {
  EXPECT_EQ(escaped("a\nb\tc\r\x1b[31m\x7f"), "a\\nb\\tc\\r\\x1b[31m\\x7f");
  EXPECT_EQ(escaped("größe\xff"), "größe\\xff");
}

}  // namespace
}  // namespace dlaunch
