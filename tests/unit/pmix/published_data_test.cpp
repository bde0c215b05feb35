#include "pmix/published_data.h"

#include <gmock/gmock.h>

namespace dlaunch::pmix {
namespace {

using testing::IsEmpty;

PublishedData::Asker asker(std::uint32_t rank, std::uint32_t id = 0) {
  return {static_cast<int>(rank) + 10, id, {"job", rank}};
}

PmixStatus only(const PublishedData::Answers& answers) {
  EXPECT_EQ(answers.size(), 1u);
  return answers.empty() ? PmixStatus::failed : answers[0].status;
}

TEST(PmixBoard, FindsPublishedDataWithItsOwner) {
  PublishedData board;
  EXPECT_EQ(only(board.publish(asker(1), {"a", "b"}, {"1", "2"}, false)), PmixStatus::ok);
  const auto answers = board.look_up(asker(2, 5), {"b", "c"}, false);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].host, 12);
  EXPECT_EQ(answers[0].id, 5u);
  EXPECT_EQ(answers[0].status, PmixStatus::ok);
  ASSERT_EQ(answers[0].found.size(), 1u);
  EXPECT_EQ(answers[0].found[0].owner.rank, 1u);
  EXPECT_EQ(answers[0].found[0].key, "b");
  EXPECT_EQ(answers[0].found[0].value, "2");
  EXPECT_EQ(only(board.look_up(asker(2), {"c"}, false)), PmixStatus::not_found);
}

TEST(PmixBoard, RejectsADuplicateName) {
  PublishedData board;
  board.publish(asker(1), {"a"}, {"1"}, false);
  EXPECT_EQ(only(board.publish(asker(2), {"b", "a"}, {"1", "1"}, false)), PmixStatus::duplicate_key);
  EXPECT_EQ(only(board.look_up(asker(2), {"b"}, false)), PmixStatus::not_found);
}

TEST(PmixBoard, AnswersAWaitingLookupAfterTheLastKey) {
  PublishedData board;
  EXPECT_THAT(board.look_up(asker(2, 7), {"a", "b"}, true), IsEmpty());
  EXPECT_EQ(board.publish(asker(0), {"a"}, {"1"}, false).size(), 1u);
  const auto answers = board.publish(asker(1), {"b"}, {"2"}, false);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].host, 12);
  EXPECT_EQ(answers[1].id, 7u);
  EXPECT_EQ(answers[1].found.size(), 2u);
}

TEST(PmixBoard, RemovesDataAfterTheFirstRead) {
  PublishedData board;
  board.look_up(asker(2), {"a"}, true);
  EXPECT_EQ(board.publish(asker(1), {"a"}, {"1"}, true).size(), 2u);
  EXPECT_EQ(only(board.look_up(asker(3), {"a"}, false)), PmixStatus::not_found);
  EXPECT_EQ(only(board.publish(asker(1), {"a"}, {"2"}, true)), PmixStatus::ok);  // the name is free again
}

TEST(PmixBoard, OnlyTheOwnerUnpublishes) {
  PublishedData board;
  board.publish(asker(1), {"a", "b"}, {"1", "2"}, false);
  EXPECT_EQ(only(board.unpublish(asker(2), {"a"})), PmixStatus::not_found);
  EXPECT_EQ(only(board.unpublish(asker(1), {"a"})), PmixStatus::ok);
  EXPECT_EQ(only(board.look_up(asker(2), {"a"}, false)), PmixStatus::not_found);
  EXPECT_EQ(only(board.unpublish(asker(1), {})), PmixStatus::ok);
  EXPECT_EQ(only(board.look_up(asker(2), {"b"}, false)), PmixStatus::not_found);
}

TEST(PmixBoard, DropsTheLookupsOfAnEndedRank) {
  PublishedData board;
  board.look_up(asker(2), {"a"}, true);
  board.ended({"job", 2});
  EXPECT_EQ(board.publish(asker(1), {"a"}, {"1"}, true).size(), 1u);
  EXPECT_EQ(only(board.look_up(asker(3), {"a"}, false)), PmixStatus::ok);
}

TEST(PmixBoard, LimitsItsSize) {
  PublishedData board;
  EXPECT_EQ(only(board.publish(asker(1), {"a"}, {}, false)), PmixStatus::bad_parameter);
  EXPECT_EQ(only(board.publish(asker(1), {"a"}, {std::string(PublishedData::kMostBytes + 1, 'x')}, false)),
            PmixStatus::out_of_memory);
  EXPECT_EQ(only(board.look_up(asker(1), std::vector<std::string>(PublishedData::kMostKeys + 1, "a"), false)),
            PmixStatus::bad_parameter);
  EXPECT_EQ(only(board.look_up(asker(1), {}, true)), PmixStatus::bad_parameter);
}

TEST(PmixBoard, LimitsTheSizeOfAnAnswer) {
  PublishedData board;
  const std::string value(PublishedData::kMostFound / 2, 'x');
  for (const char* key : {"a", "b"}) EXPECT_EQ(only(board.publish(asker(1), {key}, {value}, false)), PmixStatus::ok);
  EXPECT_EQ(only(board.look_up(asker(2), {"a"}, false)), PmixStatus::ok);
  EXPECT_EQ(only(board.look_up(asker(2), {"a", "b"}, false)), PmixStatus::out_of_memory);
  EXPECT_EQ(only(board.unpublish(asker(1), {"a", "b"})), PmixStatus::ok);
  EXPECT_EQ(only(board.publish(asker(1), {"c"}, {std::string(PublishedData::kMostBytes - 200, 'x')}, false)),
            PmixStatus::ok);
}

TEST(PmixBoard, LimitsTheAnswersToManyWaitingLookups) {
  PublishedData board;
  for (std::uint32_t i = 0; i < 100; ++i) board.look_up(asker(i + 2), {"a"}, true);
  const auto answers = board.publish(asker(1), {"a"}, {std::string(1u << 20, 'x')}, false);
  size_t found = 0;
  for (const PublishedData::Answer& answer : answers) found += answer.found.size();
  EXPECT_EQ(answers.size(), 101u);
  EXPECT_EQ(found, 15u) << "of 1 MiB each";
}

}  // namespace
}  // namespace dlaunch::pmix
