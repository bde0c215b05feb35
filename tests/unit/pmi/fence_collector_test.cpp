#include "pmi/fence_collector.h"

#include <gmock/gmock.h>

namespace dlaunch::pmi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Gather, IgnoresAHostThatJoinedLater) {
  FenceCollector gather({1});
  EXPECT_FALSE(gather.takes_part(1));
  EXPECT_EQ(gather.take(1, {}, {}), "protocol error: unexpected message from the agent");
}

TEST(Gather, SendsThePairsOfAllHostsAfterTheLastOne) {
  FenceCollector gather({2, 1});
  EXPECT_EQ(gather.take(1, {"b", "2"}, {}), "");
  EXPECT_THAT(gather.take_result(), IsEmpty());
  EXPECT_EQ(gather.take(0, {"a", "1"}, {}), "");
  const auto shared = gather.take_result();
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_THAT(shared[0].pairs, ElementsAre("b", "2", "a", "1"));
  EXPECT_TRUE(shared[0].last);
  EXPECT_EQ(shared[0].broken, "");
  EXPECT_THAT(gather.take_result(), IsEmpty());
  EXPECT_EQ(gather.take(0, {}, {}), "");  // the next fence
  EXPECT_EQ(gather.take(1, {}, {}), "");
  EXPECT_EQ(gather.take_result().size(), 1u);
}

TEST(Gather, SplitsALargeResult) {
  FenceCollector gather({1, 1});
  std::vector<std::string> pairs;
  for (int i = 0; i < 7; ++i) pairs.insert(pairs.end(), {std::to_string(i), std::string(1u << 20, 'v')});
  gather.take(0, pairs, {});
  gather.take(1, {}, {});
  const auto shared = gather.take_result();
  ASSERT_EQ(shared.size(), 2u);
  EXPECT_FALSE(shared[0].last);
  EXPECT_TRUE(shared[1].last);
  EXPECT_EQ(shared[0].pairs.size() + shared[1].pairs.size(), 14u);
}

TEST(Gather, RejectsTooMuchDataWithTheSize) {
  constexpr size_t kHosts = kMaxSpace / kMaxUnsent + 1;
  FenceCollector gather(std::vector<int>(kHosts, 1));
  const std::string value(kMaxUnsent - size_of_pair("a", ""), 'v');
  for (size_t host = 0; host < kHosts; ++host) EXPECT_EQ(gather.take(static_cast<int>(host), {"a", value}, {}), "");
  const auto shared = gather.take_result();
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_THAT(shared[0].pairs, IsEmpty());
  EXPECT_THAT(shared[0].broken, HasSubstr(std::to_string(kHosts * kMaxUnsent)));
}

TEST(Gather, LimitsTheDataOfAHost) {
  FenceCollector gather({1, 1});
  EXPECT_THAT(gather.take(0, {"a", std::string(kMaxUnsent, 'v')}, {}), HasSubstr("too much data to a fence"));
  EXPECT_THAT(gather.take(1, std::vector<std::string>(600000), {}), HasSubstr("too much data to a fence"));
}

TEST(Gather, FailsForARankThatHasLeft) {
  FenceCollector gather({2, 2});
  gather.take(0, {"a", "1"}, {});
  gather.take(1, {}, {3});
  const auto shared = gather.take_result();
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_THAT(shared[0].broken, HasSubstr("rank 3 "));
}

TEST(Gather, DoesNotWaitForAHostWithoutRanks) {
  FenceCollector gather({1, 2});
  gather.rank_ended(1, 1);
  gather.take(0, {}, {});
  EXPECT_THAT(gather.take_result(), IsEmpty());
  gather.rank_ended(1, 2);
  const auto shared = gather.take_result();
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_THAT(shared[0].broken, HasSubstr("rank 2 "));
  EXPECT_THAT(gather.take(1, {}, {}), HasSubstr("unexpected message"));
}

TEST(Gather, RankEndAfterThePartOfItsHostDoesNotBlockTheOthers) {
  FenceCollector gather({1, 1});
  gather.take(0, {}, {});
  gather.rank_ended(0, 0);
  gather.take(1, {}, {});
  ASSERT_EQ(gather.take_result().size(), 1u);
  gather.take(1, {}, {});
  EXPECT_THAT(gather.take_result().at(0).broken, HasSubstr("has left MPI"));
}

TEST(Gather, RejectsMessagesOutOfOrder) {
  FenceCollector gather({1, 1});
  EXPECT_EQ(gather.take(0, {}, {}), "");
  EXPECT_THAT(gather.take(0, {}, {}), HasSubstr("unexpected message"));
  EXPECT_THAT(gather.take(1, {"a"}, {}), HasSubstr("without a value"));
}

TEST(NameService, PublishesFindsAndRemovesNames) {
  NameService names;
  EXPECT_FALSE(names.ask(NameOp::lookup, "s", "").ok);
  EXPECT_TRUE(names.ask(NameOp::publish, "s", "p").ok);
  EXPECT_FALSE(names.ask(NameOp::publish, "s", "q").ok);
  EXPECT_EQ(names.ask(NameOp::lookup, "s", "").port, "p");
  EXPECT_TRUE(names.ask(NameOp::unpublish, "s", "").ok);
  EXPECT_FALSE(names.ask(NameOp::unpublish, "s", "").ok);
}

TEST(KeyValueStore, LimitsItsSize) {
  KeyValueStore space;
  const std::string value(1u << 20, 'v');
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(space.put(std::to_string(i), value)) << i;
  EXPECT_FALSE(space.put("8", value));
  EXPECT_EQ(space.take_unsent().size(), 14u);
  EXPECT_TRUE(space.put("0", value));  // replaces the first value
  std::vector<std::string> others;
  for (int i = 7; i < 70; ++i) others.insert(others.end(), {std::to_string(i), value});
  EXPECT_FALSE(space.take(others));
  ASSERT_TRUE(space.find("7"));
  EXPECT_EQ(space.find("69"), nullptr);
}

TEST(Gather, DoesNotWaitForAHostWithoutRanksOfTheWorld) {
  FenceCollector gather({0, 1, 1}, 2, 5);
  EXPECT_FALSE(gather.takes_part(0));
  EXPECT_EQ(gather.take(0, {}, {}), "protocol error: unexpected message from the agent");
  EXPECT_EQ(gather.take(1, {"a", "1"}, {}), "");
  EXPECT_TRUE(gather.take_result().empty());
  EXPECT_EQ(gather.take(2, {}, {}), "");
  const auto shared = gather.take_result();
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_EQ(shared[0].broken, "");
  gather.rank_ended(2, 6);
  gather.take(1, {}, {});
  EXPECT_THAT(gather.take_result().at(0).broken, testing::HasSubstr("rank 2/1 has left MPI"));
}

}  // namespace
}  // namespace dlaunch::pmi
