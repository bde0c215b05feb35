#include "report/diagnostics.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace dlaunch::report {
namespace {

using Level = Diagnostics::Level;
using testing::MatchesRegex;

std::string said(int verbosity) {
  testing::internal::CaptureStderr();
  output::StandardStreams streams({STDOUT_FILENO, STDERR_FILENO});
  Diagnostics diagnostics(streams, verbosity);
  diagnostics.info("one {}\ndlaunch: two");
  diagnostics.detail("three \x1b[2J");
  return testing::internal::GetCapturedStderr();
}

TEST(Diagnostics, SilentByDefault) { EXPECT_EQ(said(0), ""); }

TEST(Diagnostics, OneVerboseTellsInformation) { EXPECT_EQ(said(1), "dlaunch: one {}\ndlaunch:   dlaunch: two\n"); }

TEST(Diagnostics, TwiceVerboseTellsDetailAndTime) {
  const std::string time = "dlaunch: [0-9]+:[0-9]+:[0-9]+\\.[0-9]+ ";
  EXPECT_THAT(said(2), MatchesRegex(time + "one \\{\\}\ndlaunch:   dlaunch: two\n" + time + "three .x1b.2J\n"));
}

TEST(Diagnostics, On) {
  output::StandardStreams streams({STDOUT_FILENO, STDERR_FILENO});
  EXPECT_FALSE(Diagnostics(streams, 0).on(Level::info));
  EXPECT_TRUE(Diagnostics(streams, 1).on(Level::info));
  EXPECT_FALSE(Diagnostics(streams, 1).on(Level::detail));
  EXPECT_TRUE(Diagnostics(streams, 2).on(Level::detail));
}

}  // namespace
}  // namespace dlaunch::report
