#include "output/line_splitter.h"

#include <gmock/gmock.h>

namespace dlaunch::output {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(LastLines, OmitLineEnds) {
  EXPECT_THAT(last_lines("a\nb\r\nc\n", true, 10), ElementsAre("a", "b", "c"));
  EXPECT_THAT(last_lines("a\nb\nc\n\n", true, 2), ElementsAre("b", "c"));
  EXPECT_THAT(last_lines("", true, 2), SizeIs(0));
}

TEST(LastLines, OmitLinesThatACarriageReturnOverwrote) {
  EXPECT_THAT(last_lines("\r10%\r20%\r30%", true, 10), ElementsAre("30%"));
  EXPECT_THAT(last_lines("10%\r20%\r", true, 10), ElementsAre("20%"));
  EXPECT_THAT(last_lines("error: bad\r\r\n", true, 10), ElementsAre("error: bad"));
  EXPECT_THAT(last_lines("10%\r20%\r\nerror\n10%\r   \rdone\n", true, 10), ElementsAre("20%", "error", "done"));
}

TEST(LastLines, OmitATruncatedFirstLineUnlessAlone) {
  EXPECT_THAT(last_lines("roken\nwhole\n", false, 10), ElementsAre("whole"));
  EXPECT_THAT(last_lines("roken", false, 10), ElementsAre("roken"));
}

TEST(LastLines, ShortenLongLinesBetweenCharacters) {
  EXPECT_THAT(last_lines(std::string(1000, 'x'), true, 10), ElementsAre(std::string(kMaxLine, 'x')));
  EXPECT_THAT(last_lines(std::string(kMaxLine - 1, 'x') + "ö", true, 1), ElementsAre(std::string(kMaxLine - 1, 'x')));
}

TEST(Tail, KeepsAnErrorBeforeALongProgressBar) {
  Tail tail;
  tail.add("an early line\n");
  for (int i = 0; i < 100; ++i) tail.add(std::string(kMaxLine, 'x') + '\n');
  tail.add("error: first\n");
  for (int i = 0; i < 5000; ++i) {
    tail.add("\rstep " + std::to_string(i));
    ASSERT_LE(tail.bytes().size(), 2 * kTailBytes);
  }
  const auto lines = last_lines(tail.bytes(), tail.whole(), 2);
  EXPECT_THAT(lines, ElementsAre("error: first", "step 4999"));
  std::string redraws;
  for (int i = 0; i < 5000; ++i) redraws += "\rstep " + std::to_string(i);
  tail.add("\nerror: second\n");
  tail.add(redraws);
  ASSERT_LE(tail.bytes().size(), 2 * kTailBytes);
  EXPECT_THAT(last_lines(tail.bytes(), tail.whole(), 2), ElementsAre("error: second", "step 4999"));
  EXPECT_FALSE(tail.whole());
}

TEST(Tail, DoesNotJoinTheLinesAroundAGap) {
  Tail tail;
  tail.add("error: first\nbegun");
  std::string redraws = "\r";
  for (int i = 0; redraws.size() < 16 * kTailBytes; ++i) redraws += "step " + std::to_string(i) + '\r';
  tail.add(redraws + "end\n");
  EXPECT_THAT(last_lines(tail.bytes(), true, 10), ElementsAre("error: first", "begun", "end"));
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
