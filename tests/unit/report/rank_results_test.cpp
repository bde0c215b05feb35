#include "report/rank_results.h"

#include <gmock/gmock.h>

namespace dlaunch::report {
namespace {

using testing::HasSubstr;

struct Job {
  Job() {
    plan.apps.push_back({.argv = {"prog"}, .env = {}, .wdir = "/"});
    for (int rank = 0; rank < 4; ++rank) {
      plan.ranks.push_back({rank, 0, rank / 2, rank % 2, {}, {}});
      outcome.ranks.push_back({.pid = 10 + rank,
                               .status = ExitStatus(Exited{0}),
                               .start_ns = 1'000'000'000,
                               .end_ns = 3'500'000'000,
                               .cpus = ""});
    }
    for (const char* name : {"node1", "node2"}) {
      plan.hosts.push_back({{}, {}});
      plan.hosts.back().host.name = name;
    }
    outcome.ranks[1].status = ExitStatus(Exited{3});
    outcome.ranks[2].status = ExitStatus(Signaled{15, false, false});
    outcome.ranks[2].ended_by_us = true;
    outcome.ranks[3] = {};
  }
  std::vector<RankResult> results() const {
    return rank_results(plan, outcome, [this](int rank, bool failed) {
      if (failed) ++asked_for_failed;
      return rank == 1 ? std::vector<std::string>{"first <line>", "last \x1b[31mline"} : std::vector<std::string>{};
    });
  }
  plan::Plan plan;
  job::Outcome outcome;
  mutable int asked_for_failed = 0;
};

TEST(RankResults, TableHasTheEndOfEachRank) {
  EXPECT_EQ(results_table(Job().results()),
            "rank  host   end                                     time   last line\n"
            "0     node1  exited with code 0                      2.5 s\n"
            "1     node1  exited with code 3                      2.5 s  last line\n"
            "2     node2  killed by signal 15 (SIGTERM), stopped  2.5 s\n"
            "3     node2  not started                             0.0 s\n");
}

TEST(RankResults, OnlyAFailedRankIsAskedForItsErrors) {
  const Job job;
  (void)job.results();
  EXPECT_EQ(job.asked_for_failed, 1);
}

TEST(RankResults, JunitHasACaseForEachRank) {
  EXPECT_EQ(results_junit(Job().results(), 4),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="dlaunch" tests="4" errors="0" failures="1" skipped="2" time="4.000">
  <testcase classname="node1" name="rank 0" time="2.500"/>
  <testcase classname="node1" name="rank 1" time="2.500">
    <failure message="exited with code 3">first &lt;line&gt;
last \x1b[31mline
</failure>
  </testcase>
  <testcase classname="node2" name="rank 2" time="2.500">
    <skipped message="killed by signal 15 (SIGTERM), stopped"/>
  </testcase>
  <testcase classname="node2" name="rank 3" time="0.000">
    <skipped message="not started"/>
  </testcase>
</testsuite>
)");
}

TEST(RankResults, JunitHasTheCauseIfNoRankFailed) {
  Job job;
  job.outcome.ranks[1].ended_by_us = true;
  const std::string text = results_junit(job.results(), 4, "time out after 1.0 s");
  EXPECT_THAT(text, HasSubstr(R"(tests="5" errors="1" failures="0")"));
  EXPECT_THAT(
      text, HasSubstr("<testcase classname=\"dlaunch\" name=\"job\">\n    <error message=\"time out after 1.0 s\"/>"));
  EXPECT_THAT(results_junit(Job().results(), 4, "rank 1 failed"), HasSubstr(R"(errors="0" failures="1")"));
}

TEST(RankResults, AnnotationIsOneLine) {
  EXPECT_EQ(github_error("a: b, c", "50% of\nranks: failed"), "::error title=a%3A b%2C c::50%25 of%0Aranks: failed\n");
}

}  // namespace
}  // namespace dlaunch::report
