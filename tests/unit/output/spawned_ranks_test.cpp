// Ranks added while others run.
#include <gmock/gmock.h>

#include "output_fixture.h"

namespace dlaunch::output {
namespace {

/// `ranks` ranks of world 2, numbered after the fixture's ranks.
std::vector<RankFacts> world_two(int before, int ranks) {
  std::vector<RankFacts> facts = facts_of(ranks, false);
  for (RankFacts& each : facts) {
    each.world = 2;
    each.first = before;
  }
  return facts;
}

TEST(SpawnedRanks, NewRanksAreLabelledWithTheirWorld) {
  OutputSettings settings;
  settings.label = "[{rank}] ";
  OutputFixture fixture(settings, 2);
  ASSERT_TRUE(fixture.output->add(world_two(2, 2)));
  fixture.feed(1, "old\n");
  fixture.feed(3, "new\n");
  EXPECT_EQ(fixture.shown(), "[1] old\n[2/1] new\n");
  EXPECT_EQ(fixture.output->bytes(3, Stream::out), 4u);
}

TEST(SpawnedRanks, TagOfOpenMpiHasTheWorldAsJob) {
  OutputSettings settings;
  settings.tag = true;
  OutputFixture fixture(settings, 1);
  ASSERT_TRUE(fixture.output->add(world_two(1, 1)));
  fixture.feed(0, "a\n");
  fixture.feed(1, "b\n");
  EXPECT_EQ(fixture.shown(), "[1,0]<stdout>:a\n[2,0]<stdout>:b\n");
}

TEST(SpawnedRanks, SingleRankFinishesItsLineFirst) {
  OutputFixture fixture({}, 1);
  fixture.feed(0, "prompt> ");
  EXPECT_EQ(fixture.shown(), "prompt> ") << "alone: its bytes pass at once";
  ASSERT_TRUE(fixture.output->add(world_two(1, 1)));
  fixture.feed(0, "answer");
  fixture.feed(1, "new\n");
  EXPECT_EQ(fixture.shown(), "\nnew\n");
  fixture.feed(0, "\n");
  EXPECT_EQ(fixture.shown(), "answer\n");
}

TEST(SpawnedRanks, UnfinishedLineBelongsToTheLastStreamOfTheConsole) {
  OutputFixture fixture({}, 1, true);
  fixture.feed(0, "out\n");
  fixture.feed(0, "err", Stream::err);
  ASSERT_TRUE(fixture.output->add(world_two(1, 1)));
  fixture.feed(0, "or\n", Stream::err);
  EXPECT_EQ(fixture.shown(), "out\nerror\n");
}

TEST(SpawnedRanks, ChosenRanksSelectTheFirstWorld) {
  OutputSettings settings;
  settings.console_ranks = {{0}};
  OutputFixture fixture(settings, 2);
  ASSERT_TRUE(fixture.output->add(world_two(2, 1)));
  fixture.feed(2, "new\n");
  fixture.feed(0, "old\n");
  EXPECT_EQ(fixture.shown(), "old\n");
}

TEST(SpawnedRanks, RejectsATemplateThatDoesNotSeparateWorlds) {
  TempDir dir;
  OutputSettings settings;
  settings.files = FileSettings{.target = dir / "all.{stream}"};
  OutputFixture fixture(settings, 1);
  const auto added = fixture.output->add(world_two(1, 1));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().what, "ranks 0 and 2/0 would both write " + dir / "all.stdout");
  fixture.feed(0, "on\n");
  fixture.settle_files();
  EXPECT_EQ(content(dir / "all.stdout"), "on\n");
}

TEST(SpawnedRanks, FilesAreInADirectoryOfTheWorld) {
  TempDir dir;
  OutputSettings settings;
  settings.files = FileSettings{.target = dir / "logs", .copy = false};
  OutputFixture fixture(settings, 1);
  ASSERT_TRUE(fixture.output->add(world_two(1, 11)));
  EXPECT_EQ(fixture.output->path(2, Stream::err), dir / "logs/2/rank.01/stderr");
  EXPECT_FALSE(fixture.output->ready(1, Stream::out)) << "they are made while the job goes on";
  fixture.settle_files();
  EXPECT_TRUE(fixture.output->ready(1, Stream::out));
  EXPECT_TRUE(std::filesystem::exists(dir / "logs/2/rank.10/stdout"));
  settings.files->target = dir / "t/{rank}-{local_rank}.{stream}";
  OutputFixture templates(settings, 1);
  ASSERT_TRUE(templates.output->add(world_two(1, 1)));
  EXPECT_EQ(templates.output->path(1, Stream::out), dir / "t/2.0-2.0.stdout");
}

}  // namespace
}  // namespace dlaunch::output
