#include "chaos/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch::chaos {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Injection fired(const char* text, int round = 0, double at = 1) {
  Injection injection{.fault = *parse_fault(text), .fired = true, .at_s = at, .round = round};
  injection.host = injection.fault.target.host;
  return injection;
}

std::vector<std::string> broken(const std::vector<Injection>& injections, const Seen& seen,
                                const std::string& expect = "") {
  const auto expected = expect.empty() ? Expectations{} : *parse_expectations(expect);
  std::vector<std::string> names;
  for (const Check& check : judge(injections, seen, expected)) {
    if (!check.broken.empty()) names.push_back(check.name + ": " + check.broken);
  }
  return names;
}

Seen killed_rank(int rank, int code) {
  return {.exit_code = code,
          .recorded_code = code,
          .rounds = {{job::Cause::rank_failed, rank, "rank " + std::to_string(rank)}}};
}

TEST(Verdict, SucceedsIfTheInjectedRankIsReported) {
  EXPECT_THAT(broken({fired("kill:rank=3@1s")}, killed_rank(3, 137)), IsEmpty());
  EXPECT_THAT(broken({fired("kill:rank=3@1s")}, killed_rank(2, 137)), ElementsAre(HasSubstr("expected rank 3")));
  EXPECT_THAT(broken({fired("kill:rank=3@1s")}, killed_rank(3, 1)), ElementsAre(HasSubstr("expected 137")));
  Seen other = killed_rank(3, 137);
  other.exit_code = 1;
  EXPECT_THAT(broken({fired("kill:rank=3@1s")}, other), ElementsAre(HasSubstr("the exit code is 1")));
}

TEST(Verdict, AcceptsRanksThatHandleTheSignalToTheLauncher) {
  const Seen seen{.exit_code = 0, .recorded_code = 0, .rounds = {{job::Cause::success}}};
  EXPECT_THAT(broken({fired("signal:TERM:launcher@1s")}, seen), IsEmpty());
  const Seen other{.exit_code = 3, .recorded_code = 3, .rounds = {{job::Cause::rank_failed, 1, "rank 1"}}};
  EXPECT_THAT(broken({fired("signal:TERM:launcher@1s")}, other), testing::SizeIs(2));
}

TEST(Verdict, SucceedsAfterARecovery) {
  const Seen seen{.exit_code = 0,
                  .recorded_code = 0,
                  .rounds = {{job::Cause::host_lost, {}, "fake2: its agent was lost"}, {job::Cause::success}},
                  .restarts_allowed = 1};
  EXPECT_THAT(broken({fired("kill:agent=fake2@1s")}, seen, "restarts=1,code=0,first=none"), IsEmpty());
  EXPECT_THAT(broken({fired("reset:fake3@1s")}, seen), ElementsAre(HasSubstr("expected the loss of fake3")));
  EXPECT_THAT(broken({fired("kill:agent=fake2@1s")}, seen, "restarts=2"), ElementsAre("restarts is 2: the value is 1"));
  EXPECT_THAT(broken({fired("stop:rank=0@1s+2s"), fired("kill:agent=fake2@1s")}, seen), IsEmpty());
}

TEST(Verdict, ExpectsTheFirstFaultOfARoundAsCause) {
  EXPECT_THAT(broken({fired("kill:rank=1@2s", 0, 2), fired("kill:rank=3@1s", 0, 1)}, killed_rank(3, 137)), IsEmpty());
  EXPECT_THAT(broken({fired("kill:rank=1@1s", 0, 1), fired("kill:rank=3@2s", 0, 2)}, killed_rank(3, 137)),
              ElementsAre(HasSubstr("expected rank 1")));
}

TEST(Verdict, ReportsMissedFaultsAndLeftovers) {
  Injection missed{.fault = *parse_fault("kill:rank=3@1s"), .why_not = "the job ended before this moment"};
  const Seen well{.recorded_code = 0, .rounds = {{}}};
  EXPECT_THAT(broken({missed}, well), ElementsAre(HasSubstr("kill:rank=3@1s: the job ended before")));
  Seen leaves = well;
  leaves.left = {"pid 7 (sleep), state S"};
  EXPECT_THAT(broken({}, leaves), ElementsAre(HasSubstr("pid 7 (sleep)")));
  Seen rounds = well;
  rounds.rounds.resize(3);
  rounds.restarts_allowed = 1;
  EXPECT_THAT(broken({}, rounds), ElementsAre(HasSubstr("3 rounds with --restarts 1")));
}

TEST(Verdict, ExpectsNoRecordOfAKilledLauncher) {
  EXPECT_THAT(broken({fired("kill:launcher@1s")}, {.exit_code = 137}), IsEmpty());
  EXPECT_THAT(broken({fired("kill:launcher@1s")}, {.exit_code = 0}), ElementsAre(HasSubstr("expected 137")));
}

TEST(Verdict, ExpectsSuccessAfterTheLossOfASpareHost) {
  Injection spare = fired("kill:agent=fake3@1s");
  spare.without_ranks = true;
  EXPECT_THAT(broken({spare}, {.exit_code = 0, .recorded_code = 0, .rounds = {{job::Cause::success}}}), IsEmpty());
}

TEST(Verdict, ASignalBetweenTwoRoundsEndsTheJob) {
  const Seen seen{.exit_code = 143,
                  .recorded_code = 143,
                  .rounds = {{job::Cause::rank_failed, 0, "rank 0"}, {job::Cause::interrupted}},
                  .restarts_allowed = 3};
  EXPECT_THAT(broken({fired("signal:TERM:launcher@1s", 0)}, seen), IsEmpty());
  Seen other = seen;
  other.rounds.back() = {job::Cause::rank_failed, 0, "rank 0"};
  EXPECT_THAT(broken({fired("signal:TERM:launcher@1s", 0)}, other), ElementsAre(HasSubstr("expected the signal")));
}

TEST(Verdict, RejectsUnknownExpectations) {
  for (const char* const text : {"", "restarts", "colour=1", "code=0,,first=1"}) EXPECT_FALSE(parse_expectations(text));
}

TEST(Results, RoundTripThePlan) {
  Results results{.seed = 7, .injections = {fired("kill:rank=3@10s"), fired("cut:fake2@line:/a\"<b/+5s")}};
  results.checks = {{"one", ""}, {"two", "a < b & \"c\""}};
  const auto plan = read_plan(to_json(results), "plan");
  ASSERT_TRUE(plan);
  EXPECT_THAT(*plan, ElementsAre(results.injections[0].fault, results.injections[1].fault));
  const auto text = read_plan("# two\nkill:rank=3@10s\n\n  reset:a@1s\n", "plan");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), 2U);
  for (const char* const bad : {"", "# none", "{}", "{", "kill", "{\"faults\": [{\"fault\": 1}]}"}) {
    EXPECT_FALSE(read_plan(bad, "plan")) << bad;
  }
  EXPECT_THAT(to_junit(results), HasSubstr("tests=\"2\" failures=\"1\""));
  EXPECT_THAT(to_junit(results), HasSubstr("message=\"a &lt; b &amp; &quot;c&quot;\""));
}

}  // namespace
}  // namespace dlaunch::chaos
