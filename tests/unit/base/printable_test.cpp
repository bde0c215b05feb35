#include "base/printable.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(Printable, KeepsPlainText) {
  for (const char* text : {"", "plain\ttext", "Größe 日本 🙂", "\xc2\xa0"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("a\nb\x7f"), "a\\x0ab\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");  // the one-character form of ESC [
}

TEST(Printable, RemovesColours) {
  EXPECT_EQ(printable("\x1b[1;31mred\x1b[m"), "red");
  EXPECT_EQ(printable("\x1b[31"), "\\x1b[31");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");  // overlong
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe6\x97"), "\\xe6\\x97");  // truncated
}

TEST(Printable, EscapesCharactersThatReverseOrBreakLines) {
  EXPECT_EQ(printable("a\u202eb"), "a\\xe2\\x80\\xaeb");  // right-to-left override
  EXPECT_EQ(printable("\u2066\u2028\u200f\u061c"), "\\xe2\\x81\\xa6\\xe2\\x80\\xa8\\xe2\\x80\\x8f\\xd8\\x9c");
  EXPECT_EQ(printable("\u200d"), "\u200d");  // joins characters without reordering them
}

TEST(Printable, KeepsNewlines) { EXPECT_EQ(printable_lines("a\r\n\x1b[2J\n\nb"), "a\\x0d\n\\x1b[2J\n\nb"); }

TEST(Printable, JsonStaysEquivalent) {
  EXPECT_EQ(printable_json("{\n\t\"größe\": \"\\u001b 日本\"}"), "{\n\t\"größe\": \"\\u001b 日本\"}");
  EXPECT_EQ(printable_json("\"\u009b2J\u202e\x7f\""), "\"\\u009b2J\\u202e\\u007f\"");
}

TEST(Message, IndentsFollowingLines) {
  EXPECT_EQ(message("note: ", "n1: one\ndlaunch: rank 3 exited with code 1\n"),
            "dlaunch: note: n1: one\ndlaunch:   dlaunch: rank 3 exited with code 1\n");
  EXPECT_EQ(message("", "a\rb"), "dlaunch: a\\x0db\n");
  EXPECT_EQ(message("", ""), "dlaunch: \n");
}

/// Returns the text of message() after `letters` times "x", for a message that continues with `more`.
std::string behind(size_t letters, const std::string& more) {
  const std::string shown = message("", std::string(letters, 'x') + more);
  EXPECT_TRUE(shown.starts_with("dlaunch: " + std::string(letters, 'x')));
  return shown.substr(std::string("dlaunch: ").size() + letters);
}

TEST(Message, ShortensALongText) {
  EXPECT_EQ(behind(kLongestMessage, std::string(1u << 20, 'x')), " … 1048576 more bytes\n");
  EXPECT_EQ(behind(kLongestMessage, ""), "\n");
  EXPECT_EQ(behind(kLongestMessage - 2, "ößx"), "ö … 3 more bytes\n");
  EXPECT_EQ(behind(kLongestMessage - 1, "ößx"), " … 5 more bytes\n");  // does not split a character
}

TEST(Escaped, EscapesWithoutLoss) {
  EXPECT_EQ(escaped("a\nb\tc\r\x1b[31m\x7f"), "a\\nb\\tc\\r\\x1b[31m\\x7f");
  EXPECT_EQ(escaped("größe\xff"), "größe\\xff");
}

}  // namespace
}  // namespace dlaunch
