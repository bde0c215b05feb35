// Ranks that come while others run.
#include <gmock/gmock.h>

#include "stage.h"

namespace dlaunch::output {
namespace {

/// `ranks` of world 2, behind those that the stage has.
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
  Stage stage(settings, 2);
  ASSERT_TRUE(stage.output->add(world_two(2, 2)));
  stage.feed(1, "old\n");
  stage.feed(3, "new\n");
  EXPECT_EQ(stage.shown(), "[1] old\n[2/1] new\n");
  EXPECT_EQ(stage.output->bytes(3, Stream::out), 4u);
}

TEST(SpawnedRanks, OpenMpisTagHasTheWorldForItsJob) {
  OutputSettings settings;
  settings.tag = true;
  Stage stage(settings, 1);
  ASSERT_TRUE(stage.output->add(world_two(1, 1)));
  stage.feed(0, "a\n");
  stage.feed(1, "b\n");
  EXPECT_EQ(stage.shown(), "[1,0]<stdout>:a\n[2,0]<stdout>:b\n");
}

TEST(SpawnedRanks, TheOneThatWasAloneFinishesItsLineFirst) {
  Stage stage({}, 1);
  stage.feed(0, "prompt> ");
  EXPECT_EQ(stage.shown(), "prompt> ") << "alone: its bytes pass at once";
  ASSERT_TRUE(stage.output->add(world_two(1, 1)));
  stage.feed(0, "answer");
  stage.feed(1, "new\n");
  EXPECT_EQ(stage.shown(), "\nnew\n");
  stage.feed(0, "\n");
  EXPECT_EQ(stage.shown(), "answer\n");
}

TEST(SpawnedRanks, OnOneConsoleTheUnfinishedLineIsThatOfTheStreamThatWroteLast) {
  Stage stage({}, 1, true);
  stage.feed(0, "out\n");
  stage.feed(0, "err", Stream::err);
  ASSERT_TRUE(stage.output->add(world_two(1, 1)));
  stage.feed(0, "or\n", Stream::err);
  EXPECT_EQ(stage.shown(), "out\nerror\n");
}

TEST(SpawnedRanks, ChosenRanksAreOfTheFirstWorld) {
  OutputSettings settings;
  settings.console_ranks = {{0}};
  Stage stage(settings, 2);
  ASSERT_TRUE(stage.output->add(world_two(2, 1)));
  stage.feed(2, "new\n");
  stage.feed(0, "old\n");
  EXPECT_EQ(stage.shown(), "old\n");
}

TEST(SpawnedRanks, ATemplateThatWouldNotTellWorldsApartIsRefusedAndNothingIsAdded) {
  TempDir dir;
  OutputSettings settings;
  settings.files = FileSettings{.target = dir / "all.{stream}"};
  Stage stage(settings, 1);
  const auto added = stage.output->add(world_two(1, 1));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().what, "ranks 0 and 2/0 would both write " + dir / "all.stdout");
  stage.feed(0, "on\n");
  stage.settle_files();
  EXPECT_EQ(content(dir / "all.stdout"), "on\n");
}

TEST(SpawnedRanks, FilesAreInADirectoryOfTheWorld) {
  TempDir dir;
  OutputSettings settings;
  settings.files = FileSettings{.target = dir / "logs", .copy = false};
  Stage stage(settings, 1);
  ASSERT_TRUE(stage.output->add(world_two(1, 11)));
  EXPECT_EQ(stage.output->path(2, Stream::err), dir / "logs/2/rank.01/stderr");
  EXPECT_FALSE(stage.output->ready(1, Stream::out)) << "they are made while the job goes on";
  stage.settle_files();
  EXPECT_TRUE(stage.output->ready(1, Stream::out));
  EXPECT_TRUE(std::filesystem::exists(dir / "logs/2/rank.10/stdout"));
  settings.files->target = dir / "t/{rank}-{local_rank}.{stream}";
  Stage templates(settings, 1);
  ASSERT_TRUE(templates.output->add(world_two(1, 1)));
  EXPECT_EQ(templates.output->path(1, Stream::out), dir / "t/2.0-2.0.stdout");
}

}  // namespace
}  // namespace dlaunch::output
