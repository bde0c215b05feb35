#include "output/line_splitter.h"

#include <gmock/gmock.h>

namespace dlaunch::output {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(LastLines, OmitLineEnds) {
  EXPECT_THAT(last_lines("a\nb\r\nc\rd", true, 10), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(last_lines("a\nb\nc\n\n", true, 2), ElementsAre("b", "c"));
  EXPECT_THAT(last_lines("", true, 2), SizeIs(0));
}

TEST(LastLines, OmitATruncatedFirstLineUnlessAlone) {
  EXPECT_THAT(last_lines("roken\nwhole\n", false, 10), ElementsAre("whole"));
  EXPECT_THAT(last_lines("roken", false, 10), ElementsAre("roken"));
}

TEST(LastLines, ShortenLongLinesBetweenCharacters) {
  EXPECT_THAT(last_lines(std::string(1000, 'x'), true, 10), ElementsAre(std::string(kMaxLine, 'x')));
  EXPECT_THAT(last_lines(std::string(kMaxLine - 1, 'x') + "ö", true, 1), ElementsAre(std::string(kMaxLine - 1, 'x')));
}

TEST(Tail, KeepsTheEndWithinItsLimit) {
  Tail tail;
  std::string all;
  for (int i = 0; i < 5000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    all += line;
    tail.add(line);
    ASSERT_LE(tail.bytes().size(), 2 * kTailBytes);
    ASSERT_EQ(tail.whole(), tail.bytes().size() == all.size());
    ASSERT_TRUE(all.ends_with(tail.bytes()));
  }
  EXPECT_GE(tail.bytes().size(), kTailBytes);
  tail.add(std::string(1 << 20, 'y'));
  EXPECT_EQ(tail.bytes(), std::string(kTailBytes, 'y'));
  EXPECT_FALSE(tail.whole());
  Tail small(4);
  small.add("0123456789");
  EXPECT_EQ(small.bytes(), "6789");
}

}  // namespace
}  // namespace dlaunch::output
