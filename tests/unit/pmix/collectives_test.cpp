#include "pmix/collectives.h"

#include <gmock/gmock.h>

namespace dlaunch::pmix {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint8_t kFence = 0;

class PmixCollectives : public testing::Test {
 protected:
  PmixCollectives() { all_.add_world("job", {0, 0, 1, 2}); }  // ranks 0 and 1 on host 0
  Collectives all_;
};

TEST_F(PmixCollectives, SendsThePartsOfAllHostsAfterTheLastOne) {
  EXPECT_EQ(all_.take(0, kFence, "job:*", "a"), "");
  EXPECT_EQ(all_.take(2, kFence, "job:*", "c"), "");
  EXPECT_THAT(all_.take_over(), IsEmpty());
  EXPECT_EQ(all_.take(1, kFence, "job:*", "b"), "");
  const auto over = all_.take_over();
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].members, "job:*");
  EXPECT_EQ(over[0].data, "acb");
  EXPECT_EQ(over[0].status, PmixStatus::ok);
  EXPECT_THAT(over[0].hosts, ElementsAre(0, 1, 2));
  EXPECT_THAT(all_.take_over(), IsEmpty());
}

TEST_F(PmixCollectives, WaitsOnlyForHostsOfMembers) {
  all_.take(0, kFence, "job:1-2", "a");
  all_.take(2, 1, "job:3", "");  // another kind of collective, on one host
  ASSERT_THAT(all_.take_over(), ElementsAre(testing::Field(&Collectives::Over::members, "job:3")));
  all_.take(1, kFence, "job:1-2", "b");
  const auto over = all_.take_over();
  ASSERT_EQ(over.size(), 1u);
  EXPECT_THAT(over[0].hosts, ElementsAre(0, 1));
}

TEST_F(PmixCollectives, FailsACollectiveThatCannotComplete) {
  all_.take(0, kFence, "job:*", "a");
  all_.rank_ended(2);
  const auto over = all_.take_over();
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].status, PmixStatus::unreachable);
  EXPECT_EQ(over[0].data, "");
  EXPECT_THAT(over[0].hosts, ElementsAre(0));
  EXPECT_NE(over[0].why, "");
  all_.take(0, kFence, "job:*", "");  // later collectives fail at once
  EXPECT_EQ(all_.take_over().size(), 1u);
}

TEST_F(PmixCollectives, WaitsForAHostWhileAMemberRuns) {
  all_.take(1, kFence, "job:0-2", "b");
  all_.rank_ended(0);
  EXPECT_THAT(all_.take_over(), IsEmpty());
  all_.rank_ended(1);
  EXPECT_EQ(all_.take_over().size(), 1u);
}

TEST_F(PmixCollectives, AllowsAHostToEndAfterItsPart) {
  all_.take(1, kFence, "job:*", "");
  all_.rank_ended(2);
  EXPECT_THAT(all_.take_over(), IsEmpty());
  all_.take(0, kFence, "job:*", "");
  all_.take(2, kFence, "job:*", "");
  EXPECT_EQ(all_.take_over().at(0).status, PmixStatus::ok);
}

TEST_F(PmixCollectives, RejectsUnknownMembers) {
  for (const char* members : {"other:*", "job:4", "job:0-9", "nonsense"}) {
    EXPECT_EQ(all_.take(0, kFence, members, ""), "") << members;
    const auto over = all_.take_over();
    ASSERT_EQ(over.size(), 1u) << members;
    EXPECT_EQ(over[0].status, PmixStatus::bad_parameter) << members;
    EXPECT_THAT(over[0].hosts, ElementsAre(0)) << members;
  }
}

TEST_F(PmixCollectives, ConnectsTwoWorlds) {
  all_.add_world("job-2", {1, 3});
  EXPECT_EQ(all_.take(0, 1, "job:0 job-2:*", ""), "");
  EXPECT_EQ(all_.take(1, 1, "job:0 job-2:*", ""), "");
  EXPECT_THAT(all_.take_over(), IsEmpty());
  EXPECT_EQ(all_.take(3, 1, "job:0 job-2:*", ""), "");
  EXPECT_THAT(all_.take_over().at(0).hosts, ElementsAre(0, 1, 3));
  EXPECT_EQ(all_.take(0, 1, "job:0 job-2:2", ""), "");
  EXPECT_EQ(all_.take_over().at(0).status, PmixStatus::bad_parameter);
}

TEST_F(PmixCollectives, DoesNotWaitForAnEndedRankOfALaterWorld) {
  all_.add_world("job-2", {1, 3});
  all_.take(1, kFence, "job-2:*", "");
  all_.rank_ended(5);
  EXPECT_EQ(all_.take_over().at(0).status, PmixStatus::unreachable);
}

TEST_F(PmixCollectives, ReportsAnAgentThatViolatesTheOrder) {
  EXPECT_NE(all_.take(0, kFence, "job:3", ""), "");
  EXPECT_EQ(all_.take(0, kFence, "job:*", ""), "");
  EXPECT_NE(all_.take(0, kFence, "job:*", ""), "");
  EXPECT_NE(all_.take(1, kFence, "job:*", std::string(kMaxPart + 1, 'x')), "");
  EXPECT_THAT(all_.take_over(), IsEmpty());
}

TEST_F(PmixCollectives, LimitsTheOpenDataOfAHost) {
  const std::string part(kMaxPart / 2, 'x');
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all_.take(0, kFence, '#' + std::to_string(i) + " job:*", part), "");
  EXPECT_THAT(all_.take_over(), IsEmpty());
  EXPECT_EQ(all_.take(0, kFence, "#3 job:*", part), "");
  const auto over = all_.take_over();
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].status, PmixStatus::out_of_memory);
  for (const int host : {1, 2}) EXPECT_EQ(all_.take(host, kFence, "#0 job:*", ""), "");
  ASSERT_EQ(all_.take_over().size(), 1u) << "what is over is held no more";
  EXPECT_EQ(all_.take(0, kFence, "#4 job:*", part), "");
  EXPECT_THAT(all_.take_over(), IsEmpty());
}

TEST(PmixCollectivesOfManyHosts, RejectsTooMuchDataWithTheLimit) {
  std::vector<int> hosts(kMostShared / kMaxPart + 1);
  for (size_t i = 0; i < hosts.size(); ++i) hosts[i] = static_cast<int>(i);
  Collectives all;
  all.add_world("job", hosts);
  std::vector<Collectives::Over> over;
  for (const int host : hosts) {
    if (!over.empty()) break;
    all.take(host, kFence, "job:*", std::string(kMaxPart, 'x'));
    over = all.take_over();
  }
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].status, PmixStatus::out_of_memory);
  EXPECT_THAT(over[0].why, HasSubstr(std::to_string(kMostShared >> 20)));
}

}  // namespace
}  // namespace dlaunch::pmix
