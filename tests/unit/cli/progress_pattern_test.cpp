#include "cli/values.h"

#include "command_line_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;

std::optional<std::int64_t> found(std::string_view pattern, std::string_view line) {
  const auto progress = progress_pattern(pattern);
  if (progress) return (*progress)(line);
  ADD_FAILURE() << to_text(progress.error());
  return std::nullopt;
}

TEST(ProgressPattern, FindsTheNumberOfTheGroup) {
  EXPECT_THAT(found("step (\\d+)", "epoch 3, step 120 of 480"), Optional(120));
  EXPECT_THAT(found("step (\\d+)", "loss 0.5"), std::nullopt);
  EXPECT_THAT(found("(?:step|iter) (\\d+)", "iter 7"), Optional(7));
}

TEST(ProgressPattern, UsesTheLastMatch) { EXPECT_THAT(found("step (\\d+)", "step 1, step 2; step x"), Optional(2)); }

TEST(ProgressPattern, WithoutAGroupUsesTheFirstNumberOfTheMatch) {
  EXPECT_THAT(found("step \\d+/\\d+", "step 12/100"), Optional(12));
  EXPECT_THAT(found("\\d+", "7 of 9"), Optional(9));
  EXPECT_THAT(found("done", "done 9"), std::nullopt);
}

TEST(ProgressPattern, MatchesBytesOutsideUtf8) {
  EXPECT_THAT(found("step (\\d+)", std::string_view("\xff\0 step 3 \xc3", 11)), Optional(3));
  EXPECT_THAT(found("Schritt für (\\d+)", "Schritt für 3"), Optional(3));
}

TEST(ProgressPattern, IgnoresHugeAndNegativeNumbers) {
  EXPECT_THAT(found("step (\\d+)", "step 99999999999999999999999"), std::nullopt);
  EXPECT_THAT(found("step (-?\\d+)", "step 4, step -5"), Optional(4));
  EXPECT_THAT(found("step-\\d+", "step-5"), Optional(5));
  EXPECT_THAT(found("step ([\\d.]+)", "step 12.75"), Optional(12));
}

TEST(ProgressPattern, SearchWithoutAMatchEnds) {
  EXPECT_THAT(found("x*", std::string(4096, 'y')), std::nullopt);
  EXPECT_THAT(found("(a?){30}a{30}(?:b)", std::string(4096, 'a')), std::nullopt);
}

TEST(ProgressPattern, ErrorShortensALongPattern) {
  const CommandLineFixture line;
  for (const std::string& pattern : {"(" + std::string(100'000, 'x'), "(?P<" + std::string(100'000, 'x')}) {
    const std::string said = line.error({"--progress", pattern.c_str(), "true"});
    EXPECT_THAT(said, HasSubstr("…\": "));
    EXPECT_LT(said.size(), 1000u);
  }
}

TEST(ProgressPattern, ErrorsShowThePatternAndTheReason) {
  const CommandLineFixture line;
  EXPECT_THAT(line.error({"--progress", "step (\\d+", "true"}),
              AllOf(HasSubstr("--progress: invalid pattern \"step (\\d+\": "), HasSubstr("missing )"),
                    HasSubstr("such as 'step (\\d+)'")));
  EXPECT_THAT(line.error({"--progress", "", "true"}),
              HasSubstr("--progress: invalid pattern \"\": expected a pattern"));
  EXPECT_THAT(line.error({"--progress", "(a)(\\d+)", "true"}), HasSubstr("expected at most one group, found 2"));
  EXPECT_THAT(line.error({"--progress", "(a{1000}){1000}", "true"}), HasSubstr("--progress: invalid pattern"));
  EXPECT_THAT(line.error({"--progress", "(?=a)", "true"}), HasSubstr("invalid perl operator"));
}

TEST(ProgressPattern, IsPassedToTheJob) {
  const Options options = CommandLineFixture{}.options({"--progress", "step (\\d+)", "--progress-lag", "7", "true"});
  ASSERT_TRUE(options.progress);
  EXPECT_THAT(options.progress("step 5"), Optional(5));
  EXPECT_THAT(options.progress_lag, Optional(7));
  const Options without = CommandLineFixture{}.options({"true"});
  EXPECT_FALSE(without.progress);
  EXPECT_EQ(without.progress_lag, std::nullopt);
  EXPECT_EQ(without.stacks_on, 0);
}

TEST(ProgressPattern, LagRequiresAPattern) {
  const CommandLineFixture line;
  EXPECT_THAT(line.error({"--progress-lag", "7", "true"}), HasSubstr("add --progress 'step (\\d+)'"));
  EXPECT_THAT(line.error({"--progress", "\\d", "--progress-lag", "-1", "true"}), HasSubstr("--progress-lag"));
}

TEST(StacksOn, AcceptsUsr1Usr2AndQuit) {
  const CommandLineFixture line;
  EXPECT_EQ(line.options({"--stacks-on", "QUIT", "true"}).stacks_on, SIGQUIT);
  EXPECT_EQ(line.options({"--stacks-on", "SIGUSR1", "true"}).stacks_on, SIGUSR1);
  EXPECT_EQ(line.options({"--stacks-on", "12", "true"}).stacks_on, SIGUSR2);
  for (const char* other : {"KILL", "STOP", "TERM", "INT", "CHLD", "CONT", "HUP", "WINCH", "0", "", "SIG", "nothing"}) {
    EXPECT_THAT(line.error({"--stacks-on", other, "true"}), HasSubstr("expected USR1, USR2 or QUIT")) << other;
  }
}

TEST(StacksOn, ConflictsWithSignalsOfACheckpoint) {
  const CommandLineFixture line;
  EXPECT_THAT(
      line.error({"--checkpoint-signal", "TERM", "--stacks-on", "USR1", "true"}),
      AllOf(HasSubstr("--stacks-on USR1 conflicts with --checkpoint-signal"), HasSubstr("use --stacks-on QUIT")));
  EXPECT_EQ(line.options({"--checkpoint-signal", "USR1", "--stacks-on", "QUIT", "true"}).stacks_on, SIGQUIT);
}

}  // namespace
}  // namespace dlaunch::cli
