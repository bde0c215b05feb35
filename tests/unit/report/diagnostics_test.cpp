#include "report/diagnostics.h"

#include <gmock/gmock.h>

namespace dlaunch::report {
namespace {

using Level = Diagnostics::Level;
using testing::MatchesRegex;

std::string said(int verbosity) {
  testing::internal::CaptureStderr();
  Diagnostics diagnostics(verbosity);
  diagnostics.info("one {}\ntwo");
  diagnostics.detail("three \x1b[2J");
  return testing::internal::GetCapturedStderr();
}

TEST(Diagnostics, SilentByDefault) { EXPECT_EQ(said(0), ""); }

TEST(Diagnostics, OneVerboseTellsInformation) { EXPECT_EQ(said(1), "dlaunch: one {}\ndlaunch: two\n"); }

TEST(Diagnostics, TwiceVerboseTellsDetailAndTime) {
  const std::string time = "dlaunch: [0-9]+:[0-9]+:[0-9]+\\.[0-9]+ ";
  EXPECT_THAT(said(2), MatchesRegex(time + "one \\{\\}\n" + time + "two\n" + time + "three .x1b.2J\n"));
}

TEST(Diagnostics, On) {
  EXPECT_FALSE(Diagnostics(0).on(Level::info));
  EXPECT_TRUE(Diagnostics(1).on(Level::info));
  EXPECT_FALSE(Diagnostics(1).on(Level::detail));
  EXPECT_TRUE(Diagnostics(2).on(Level::detail));
}

}  // namespace
}  // namespace dlaunch::report
