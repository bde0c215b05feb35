#include "launcher/open_files.h"

#include <gmock/gmock.h>

namespace dlaunch::launcher {
namespace {

plan::Plan plan_of(int hosts, int ranks_a_host, bool local) {
  plan::Plan plan;
  plan.hosts.resize(static_cast<size_t>(hosts));
  for (plan::PlannedHost& planned : plan.hosts) {
    planned.host.local = local;
    for (int i = 0; i < ranks_a_host; ++i) planned.ranks.push_back(static_cast<int>(plan.ranks.size()) + i);
    plan.ranks.resize(plan.ranks.size() + static_cast<size_t>(ranks_a_host));
  }
  return plan;
}

std::uint64_t need(const plan::Plan& plan, const output::OutputSettings& output = {},
                   RemoteTransport way = RemoteTransport::ssh) {
  std::vector<int> ranks;
  for (const plan::PlannedHost& planned : plan.hosts) ranks.push_back(static_cast<int>(planned.ranks.size()));
  return open_files_needed(plan, ranks, output, way);
}

TEST(OpenFiles, LocalRanksTakeThreeEach) { EXPECT_EQ(need(plan_of(1, 100, true)) - need(plan_of(1, 0, true)), 300u); }

TEST(OpenFiles, RemoteHostsCountAndTheirRanksDoNot) {
  EXPECT_EQ(need(plan_of(1000, 8, false)), need(plan_of(1000, 1, false)));
  EXPECT_EQ(need(plan_of(1001, 8, false)) - need(plan_of(1, 8, false)), 6000u);
  EXPECT_EQ(need(plan_of(1001, 8, false), {}, RemoteTransport::command) -
                need(plan_of(1, 8, false), {}, RemoteTransport::command),
            3000u);
}

TEST(OpenFiles, HostWithoutRanksCountsFromItsFirstRank) {
  plan::Plan plan = plan_of(2, 1, false);
  plan.spare.resize(2);
  const auto needed = [&](const std::vector<int>& ranks) {
    return open_files_needed(plan, ranks, {}, RemoteTransport::ssh);
  };
  EXPECT_EQ(needed({1, 1, 0, 0}), needed({1, 1}));
  EXPECT_EQ(needed({1, 1, 0, 3}) - needed({1, 1}), 6u);
  plan.hosts[1].unreachable = true;
  EXPECT_EQ(needed({1, 1}) - needed({1, 0}), 6u);
}

TEST(OpenFiles, FileWriterProcessHasItsOwnLimit) {
  output::OutputSettings output;
  output.files = output::FileSettings{.target = "/logs"};
  EXPECT_EQ(need(plan_of(1, 100, true), output), need(plan_of(1, 100, true)));
  const plan::Plan elsewhere = plan_of(2, 500, false);
  EXPECT_LT(need(elsewhere), 1000u);
  EXPECT_EQ(need(elsewhere, output), 2064u);
  output.files->copy = false;
  EXPECT_EQ(need(elsewhere, output), 2064u) << "a rank elsewhere writes none itself";
  output.merge_stderr = true;
  EXPECT_EQ(need(elsewhere, output), 1064u);
}

TEST(OpenFiles, ErrorShowsTheRequiredNumber) {
  EXPECT_FALSE(too_few_open_files(plan_of(1, 1, true), 100, 100));
  const auto error = too_few_open_files(plan_of(20, 4, false), 300, 256);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->why, "80 ranks on 20 hosts require 300, the hard limit is 256");
  EXPECT_THAT(error->hint, testing::HasSubstr("ulimit -Hn 300"));
}

}  // namespace
}  // namespace dlaunch::launcher
