#include "output/hidden_lines.h"

#include <gmock/gmock.h>

#include "output/joint_errors.h"

namespace dlaunch::output {
namespace {

TEST(HiddenLines, AreLostIfTheirFileFailsBeforeTheyAreWritten) {
  HiddenLines lines;
  lines.add(0, 100, 3);
  lines.add(0, 100, 2);
  lines.add(1, 200, 7);
  lines.add(0, 300, 11);
  lines.written(100);
  lines.lose(150, 0);
  EXPECT_EQ(lines.lost(), 11U);
  lines.lose(150);
  EXPECT_EQ(lines.lost(), 18U);
}

TEST(HiddenLines, AreNotLostInAFileThatHasThem) {
  HiddenLines lines;
  lines.add(0, 100, 3);
  lines.lose(100, 0);
  lines.lose(100);
  EXPECT_EQ(lines.lost(), 0U);
}

TEST(HiddenLines, AreLostUntilTheChannelHasGivenThem) {
  HiddenLines lines;
  lines.hold(0, 3);
  lines.hold(1, 5);
  lines.hold(2, 7);
  lines.gave(1, 100);
  lines.written(100);
  lines.lose(100, 0);
  EXPECT_EQ(lines.lost(), 3U);
  lines.lose(100);
  EXPECT_EQ(lines.lost(), 10U);
  EXPECT_FALSE(lines.holds());
}

TEST(JointErrors, NameUpToEightFilesOfAReason) {
  std::vector<Error> errors{{.where = "", .what = "cannot write x/9", .why = "broken", .hint = ""}};
  for (int file = 0; file < 9; ++file) {
    errors.push_back({.where = "", .what = "cannot write " + std::to_string(file), .why = "full", .hint = "empty it"});
  }
  const auto joint = join_errors(errors);
  ASSERT_EQ(joint.size(), 2U);
  EXPECT_EQ(joint[0].what, "cannot write x/9");
  EXPECT_EQ(joint[1].what, "cannot write 0, 1, 2, 3, 4, 5, 6, 7 and 1 other file");
  EXPECT_EQ(joint[1].why, "full");
}

}  // namespace
}  // namespace dlaunch::output
