#include "transport/reason_lines.h"

#include <gtest/gtest.h>

namespace dlaunch::transport {
namespace {

constexpr const char* kCancelled = "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 ***";

TEST(ReasonLines, KeepLastLineWithTimeOfReading) {
  ReasonLines lines;
  std::string shown;
  lines.take("first\nsec", 5, [&](const std::string& line) { shown += line + ';'; });
  EXPECT_EQ(lines.last().text, "sec") << "a command may end within a line";
  EXPECT_EQ(lines.last().read_ns, 5);
  lines.take("ond\n\n", 7, [&](const std::string& line) { shown += line + ';'; });
  EXPECT_EQ(lines.last().text, "second");
  EXPECT_EQ(lines.last().read_ns, 7);
  EXPECT_EQ(shown, "first;second;");
}

TEST(ReasonLines, IgnoreRemarks) {
  ReasonLines lines;
  lines.take("cannot connect\nsrun: cluster configuration lacks support for cpu binding\n", 1, {});
  EXPECT_EQ(lines.last().text, "cannot connect");
}

TEST(ReasonLines, KeepOrderOfManagerAndIgnoreItsConsequences) {
  ReasonLines lines;
  lines.take(std::string(kCancelled) + "\nsrun: error: n1: task 0: Killed\nterm", 3, {});
  EXPECT_EQ(lines.last().text, kCancelled);
  EXPECT_EQ(lines.last().meaning, place::LineMeaning::cancelled);
  lines.forget();
  EXPECT_EQ(lines.last().text, kCancelled) << "the order is still true";
}

TEST(ReasonLines, ForgetLinesOfFinishedWork) {
  ReasonLines lines;
  lines.take("warning\n", 3, {});
  lines.forget();
  EXPECT_EQ(lines.last().text, "");
}

}  // namespace
}  // namespace dlaunch::transport
