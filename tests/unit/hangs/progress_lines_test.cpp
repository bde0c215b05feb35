#include "hangs/progress_watch.h"

#include <gmock/gmock.h>

#include <charconv>
#include <vector>

namespace dlaunch::hangs {
namespace {

using std::string_view;
using testing::Each;
using testing::Le;
using testing::Optional;
using testing::SizeIs;

/// The progress of a line that is a number.
std::optional<std::int64_t> number(string_view line) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  return error == std::errc() && end == line.data() + line.size() ? std::optional(value) : std::nullopt;
}

TEST(ProgressLines, UsesTheLastLineWithANumber) {
  ProgressLines lines;
  EXPECT_THAT(lines.feed("1\n2\nx\n", number), Optional(2));
  EXPECT_EQ(lines.feed("x\ny\n", number), std::nullopt);
  EXPECT_EQ(lines.feed("", number), std::nullopt);
  EXPECT_THAT(lines.feed("\n\r\n3\n\r\r\n", number), Optional(3));
}

TEST(ProgressLines, CarriageReturnEndsALine) {
  ProgressLines lines;
  EXPECT_THAT(lines.feed("\r4\r5", number), Optional(4));
  EXPECT_THAT(lines.feed("\r6", number), Optional(5));
  EXPECT_THAT(lines.feed("\r\n", number), Optional(6));
}

TEST(ProgressLines, JoinsThePartsOfALine) {
  const string_view text = "10\r11\nx\n\r\n123\r\n45\rx\n6";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    ProgressLines lines;
    std::optional<std::int64_t> last;
    for (size_t at = 0; at < text.size(); at += piece) {
      if (const auto found = lines.feed(text.substr(at, piece), number)) last = found;
    }
    EXPECT_THAT(last, Optional(45)) << piece;
    EXPECT_THAT(lines.end(number), Optional(6)) << piece;
    EXPECT_EQ(lines.end(number), std::nullopt) << piece;
  }
}

TEST(ProgressLines, SearchesTheBeginningOfALongLine) {
  ProgressLines lines;
  std::vector<std::string> seen;
  const auto keep = [&](string_view line) {
    seen.emplace_back(line);
    return std::optional<std::int64_t>();
  };
  const std::string piece(1 << 16, 'x');
  lines.feed("begin", keep);
  for (int i = 0; i < 200; ++i) lines.feed(piece, keep);
  lines.feed("\n" + piece + "\nend", keep);
  lines.end(keep);
  ASSERT_THAT(seen, SizeIs(3));
  EXPECT_THAT(seen, Each(SizeIs(Le(ProgressLines::kLongest))));
  EXPECT_THAT(seen.back(), "end");
}

TEST(ProgressLines, IgnoresANumberCutAtTheLimit) {
  const auto last = [](string_view line) { return number(line.substr(line.rfind('x') + 1)); };
  for (const std::size_t before : {0UL, 1UL, 4000UL}) {
    for (const std::size_t left : {0UL, 1UL, 3UL, 6UL}) {
      const std::string text = std::string(ProgressLines::kLongest - left, 'x') + "123456";
      ProgressLines lines;
      lines.feed(text.substr(0, before), last);
      EXPECT_EQ(lines.feed(text.substr(before) + '\n', last), left == 6 ? std::optional(123456) : std::nullopt) << left;
    }
  }
}

}  // namespace
}  // namespace dlaunch::hangs
