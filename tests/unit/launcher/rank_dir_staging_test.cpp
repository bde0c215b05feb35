// The messages to a host before it is ready, and their size under the credit.
#include "launcher/rank_dir_staging.h"

#include <gmock/gmock.h>

#include "launcher/frames.h"

namespace dlaunch::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Time kStart{};

/// A job with one rank on each of two hosts, and all messages sent to them.
struct Told {
  explicit Told(size_t archive = 0) {
    for (int rank = 0; rank < 2; ++rank) {
      plan::Host host;
      host.name = "n" + std::to_string(rank);
      plan.hosts.push_back({host, {rank}});
      plan::Rank planned;
      planned.rank = planned.host = rank;
      planned.dir = "/w/d" + std::to_string(rank);
      plan.ranks.push_back(planned);
    }
    plan::App app;
    app.wdir = "/w";
    plan.apps.push_back(app);
    if (archive > 0) settings.staged = std::make_shared<const std::string>(archive, 'x');
    facts = rank_facts(plan);
  }
  size_t staged(int host) const {
    size_t bytes = 0;
    for (const auto& [to, message] : sent) {
      if (const auto* stage = std::get_if<wire::Stage>(&message); stage && to == host) bytes += stage->bytes.size();
    }
    return bytes;
  }

  plan::Plan plan;
  JobOptions settings;
  std::vector<output::RankFacts> facts;
  std::vector<std::pair<int, wire::Message>> sent;
};

class Prepares {
 public:
  explicit Prepares(Told& told)
      : preparation(told.plan, told.settings, told.facts,
                    [&told](int host, const wire::Message& message) { told.sent.emplace_back(host, message); }) {}
  RankDirStaging preparation;
};

TEST(RankDirStaging, SendsOnlyTheHostsDirectories) {
  Told told;
  told.settings.output.files = output::FileSettings{.target = "/w/./d{rank}/log"};
  Prepares prepares(told);
  EXPECT_TRUE(prepares.preparation.needed(1));
  prepares.preparation.begin(1, kStart);
  ASSERT_EQ(told.sent.size(), 1u);
  const auto& asked = std::get<wire::Prepare>(told.sent[0].second);
  EXPECT_THAT(asked.dirs, ElementsAre("/w/d1"));
  EXPECT_THAT(asked.bases, ElementsAre("/w"));
  EXPECT_THAT(asked.kept, testing::Each("/w/d1/log"));
  EXPECT_FALSE(asked.staged);
}

TEST(RankDirStaging, AsksHostsWithoutRanksOnlyInLaterRounds) {
  Told told;
  told.plan.hosts.push_back({});
  Prepares prepares(told);
  EXPECT_FALSE(prepares.preparation.needed(2));
  told.plan.round = 1;
  EXPECT_FALSE(prepares.preparation.needed(0)) << "the ranks have not moved";
  for (plan::PlannedHost& host : told.plan.hosts) host.since_round = 1;
  EXPECT_TRUE(prepares.preparation.needed(0));
  EXPECT_TRUE(prepares.preparation.needed(2)) << "another host may get its directories";
  prepares.preparation.begin(2, kStart);
  const auto& asked = std::get<wire::Prepare>(told.sent.back().second);
  EXPECT_THAT(asked.dirs, IsEmpty());
  EXPECT_TRUE(asked.later);
}

TEST(RankDirStaging, SendsAtMostTheGrant) {
  const size_t size = 3 * wire::kStageCredit + 5;
  Told told(size);
  Prepares prepares(told);
  prepares.preparation.begin(0, kStart);
  EXPECT_EQ(told.staged(0), 0u) << "another host may refuse the job";
  EXPECT_TRUE(prepares.preparation.done(0, {}));
  prepares.preparation.fill(kStart);
  EXPECT_EQ(told.staged(0), wire::kStageCredit);
  EXPECT_EQ(told.staged(1), 0u);
  prepares.preparation.granted(0, {10}, kStart);
  EXPECT_EQ(told.staged(0), wire::kStageCredit + 10);
  for (int i = 0; i < 4; ++i) prepares.preparation.granted(0, {wire::kStageCredit}, kStart);
  EXPECT_EQ(told.staged(0), size);
  int ends = 0;
  for (const auto& [host, message] : told.sent) {
    if (const auto* stage = std::get_if<wire::Stage>(&message)) ends += stage->eof ? 1 : 0;
  }
  EXPECT_EQ(ends, 1);
  EXPECT_TRUE(std::get<wire::Stage>(told.sent.back().second).eof);
}

TEST(RankDirStaging, StopsWhenAHostReportsAFailure) {
  Told told(4 * wire::kStageCredit);
  Prepares prepares(told);
  prepares.preparation.begin(0, kStart);
  prepares.preparation.done(0, {});
  prepares.preparation.fill(kStart);
  const auto loss = prepares.preparation.done(0, {"disk full", "make room"});
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->why, "disk full");
  EXPECT_EQ(loss->hint, "make room");
  prepares.preparation.granted(0, {wire::kStageCredit}, kStart);
  EXPECT_EQ(told.staged(0), wire::kStageCredit);
}

TEST(RankDirStaging, RejectsAnUnexpectedAnswer) {
  Told told;
  Prepares prepares(told);
  EXPECT_FALSE(prepares.preparation.done(0, {}));
  prepares.preparation.begin(0, kStart);
  EXPECT_TRUE(prepares.preparation.done(0, {}));
  EXPECT_FALSE(prepares.preparation.done(0, {}));
  EXPECT_FALSE(prepares.preparation.granted(0, {1}, kStart)) << "no Stage was sent";
  EXPECT_TRUE(prepares.preparation.done(0, {"its process was killed", ""})) << "in the wait for other hosts";
}

TEST(RankDirStaging, FillsDirectoriesWithoutStagedFiles) {
  Told told;
  Prepares prepares(told);
  for (const int host : {0, 1}) {
    prepares.preparation.begin(host, kStart);
    prepares.preparation.done(host, {});
  }
  EXPECT_FALSE(prepares.preparation.waits());
  EXPECT_EQ(told.sent.size(), 2u);
  prepares.preparation.fill(kStart);
  ASSERT_EQ(told.sent.size(), 4u);
  EXPECT_EQ(std::get<wire::Stage>(told.sent.back().second), (wire::Stage{"", true}));
  EXPECT_TRUE(prepares.preparation.done(0, {}));
  EXPECT_TRUE(prepares.preparation.waits());
  prepares.preparation.forget(1);
  EXPECT_FALSE(prepares.preparation.waits());
}

TEST(RankDirStaging, NamesLateHostsOnce) {
  Told told(8 * wire::kStageCredit);
  Prepares prepares(told);
  for (const int host : {0, 1}) {
    prepares.preparation.begin(host, kStart);
    prepares.preparation.done(host, {});
  }
  prepares.preparation.fill(kStart);
  const Time late = kStart + RankDirStaging::kNoteAfter;
  EXPECT_EQ(prepares.preparation.note(late - std::chrono::milliseconds(1)), "");
  prepares.preparation.granted(0, {10}, late);
  EXPECT_EQ(prepares.preparation.note(late), "still waiting for the rank directories of n1, such as /w/d1");
  EXPECT_EQ(prepares.preparation.note(late + RankDirStaging::kNoteAfter), "");
}

TEST(RankDirStaging, PrintsNoNoteAboutReadyHosts) {
  Told told;
  Prepares prepares(told);
  prepares.preparation.begin(0, kStart);
  prepares.preparation.done(0, {});
  EXPECT_EQ(prepares.preparation.note(kStart + RankDirStaging::kNoteAfter), "");
}

TEST(RankDirStaging, IsNotNeededWithoutDirectories) {
  Told told;
  for (plan::Rank& rank : told.plan.ranks) rank.dir.clear();
  Prepares prepares(told);
  EXPECT_FALSE(prepares.preparation.needed(0));
  EXPECT_THAT(told.sent, IsEmpty());
}

}  // namespace
}  // namespace dlaunch::launcher
