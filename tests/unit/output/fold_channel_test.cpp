#include <gmock/gmock.h>

#include <chrono>

#include "output/fold.h"
#include "output_fixture.h"

namespace dlaunch::output {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

OutputSettings folding(std::optional<Fold> level = Fold::own) {
  OutputSettings settings;
  settings.fold = level;
  return settings;
}

/// An OutputFixture whose only pipe counts as a terminal.
struct Terminal : OutputFixture {
  explicit Terminal(const OutputSettings& settings, int ranks) : OutputFixture(settings, ranks, true, true, true) {}
  void feed_all(const std::string& text, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) feed(rank, text);
  }
};

OutputSettings without_color(OutputSettings settings) {
  settings.color = Color::never;
  return settings;
}

TEST(FoldChannel, PrintsALineOnceWithItsRanks) {
  OutputFixture fixture(folding(), 3);
  for (int rank = 0; rank < 3; ++rank) fixture.feed(rank, "a\n");
  EXPECT_EQ(fixture.shown(), "[0-2] a\n");
  fixture.feed(1, "b\n");
  EXPECT_EQ(fixture.shown(), "");
  fixture.wait(100);
  fixture.wait(100);
  EXPECT_EQ(fixture.shown(), "[1] b\n");
}

TEST(FoldChannel, FoldsByDefaultOnATerminalWithMoreThan8Ranks) {
  for (const int ranks : {8, 9}) {
    Terminal fixture(without_color(folding({})), ranks);
    fixture.feed_all("a\n", ranks);
    EXPECT_EQ(fixture.shown(), ranks == 9 ? "[0-8] a\n" : "a\na\na\na\na\na\na\na\n");
    EXPECT_EQ(fixture.output->take_fold_note(), ranks == 9);
    EXPECT_FALSE(fixture.output->take_fold_note());
  }
  OutputFixture pipe(folding({}), 9);
  for (int rank = 0; rank < 9; ++rank) pipe.feed(rank, "a\n");
  EXPECT_EQ(pipe.shown().size(), 18U);
  Terminal off(folding(Fold::off), 9);
  off.feed_all("a\n", 9);
  EXPECT_EQ(off.shown().size(), 18U);
}

TEST(FoldChannel, NotesTheFoldAfterAPrompt) {
  Terminal fixture(without_color(folding({})), 9);
  fixture.feed_all("a\n", 9);
  fixture.feed(0, "name? ");
  for (int tick = 0; tick < 3; ++tick) fixture.wait(100);
  EXPECT_THAT(fixture.shown(), testing::EndsWith("name? "));
  EXPECT_FALSE(fixture.output->take_fold_note());
  fixture.feed(0, "\n");
  fixture.shown();
  EXPECT_TRUE(fixture.output->take_fold_note());
}

TEST(FoldChannel, DoesNotFoldOneRankRawOutputPtysAndJson) {
  OutputFixture one(folding(), 1);
  one.feed(0, "a");
  EXPECT_EQ(one.shown(), "a");
  OutputSettings settings = folding();
  settings.pty = true;
  OutputFixture pty(settings, 2);
  pty.feed(0, "a\n");
  EXPECT_EQ(pty.shown(), "a\n");
  settings = folding();
  settings.mode = Mode::raw;
  OutputFixture raw(settings, 2);
  raw.feed(0, "a\n");
  EXPECT_EQ(raw.shown(), "a\n");
  settings.mode = Mode::jsonl;
  OutputFixture json(settings, 2);
  json.feed(0, "a\n");
  EXPECT_THAT(json.shown(), HasSubstr("\"text\":\"a\""));
}

TEST(FoldChannel, PrintsHeldLinesBeforeAPartialLine) {
  Terminal fixture(without_color(folding()), 3);
  fixture.feed(0, "a\n");
  fixture.feed(1, "name? ");
  fixture.wait(100);
  EXPECT_EQ(fixture.shown(), "[0] a\n[1] name? ");
  fixture.feed(1, "x\n");
  EXPECT_EQ(fixture.shown(), "x\n");
  fixture.feed(1, "more? ");
  fixture.wait(100);
  for (int rank : {0, 2, 0, 2}) fixture.feed(rank, "b\n");
  fixture.wait(200);
  fixture.feed(1, "y\n");
  fixture.wait(200);
  EXPECT_EQ(fixture.shown(), "[1] more? \n[0,2] b\n[0,2] b\n[1] y\n");
}

TEST(FoldChannel, KeepsTheOrderOfBothStreamsAroundAPartialLine) {
  Terminal fixture(without_color(folding()), 2);
  fixture.feed(0, "name? ");
  fixture.wait(100);
  fixture.feed(0, "warning\n", Stream::err);
  fixture.feed(0, "x\n");
  fixture.end_all();
  EXPECT_EQ(fixture.shown(), "[0] name? \n[0] warning\n[0] x\n");
}

TEST(FoldChannel, JoinsPartsOfALine) {
  OutputFixture fixture(folding(), 2);
  for (int rank = 0; rank < 2; ++rank) fixture.feed(rank, "one ");
  for (int rank = 0; rank < 2; ++rank) fixture.feed(rank, "line\n10 %\r");
  for (int rank = 0; rank < 2; ++rank) fixture.feed(rank, "20 %\r\nend");
  fixture.end_all();
  EXPECT_EQ(fixture.shown(), "[0-1] one line\n[0-1] 10 %\r[0-1] 20 %\r\n[0] end\n[1] end");
}

TEST(FoldChannel, PrintsHeldLinesBeforeMessages) {
  OutputFixture fixture(folding(), 2, true);
  fixture.feed(0, "a\n");
  fixture.streams.say(StandardStreams::Importance::needed, "dlaunch: told\n");
  EXPECT_EQ(fixture.shown(), "[0] a\ndlaunch: told\n");
}

TEST(FoldChannel, LosesNothingAtTheEnd) {
  OutputFixture fixture(folding(), 2);
  fixture.feed(0, "a\n");
  fixture.output.reset();
  EXPECT_EQ(fixture.out.read(), "[0] a\n");
}

TEST(FoldChannel, IndentsATraceback) {
  OutputFixture fixture(folding(), 10);
  for (int rank = 0; rank < 10; ++rank) {
    fixture.feed(rank, "Traceback (most recent call last):\n  File \"t.py\"\nOSError: gone\n");
  }
  fixture.end_all();
  EXPECT_EQ(fixture.shown(), "[0-9] Traceback (most recent call last):\n        File \"t.py\"\n      OSError: gone\n");
  OutputFixture alone(folding(), 2);
  alone.feed(1, "Traceback (most recent call last):\n  File \"t.py\"\nOSError: gone\n");
  alone.end_all();
  EXPECT_EQ(alone.shown(), "[1] Traceback (most recent call last):\n[1]   File \"t.py\"\n[1] OSError: gone\n");
}

TEST(FoldChannel, LabelsHaveRanges) {
  OutputSettings settings = folding(Fold::exact);
  settings.label = "{rank} {host} {local_rank} {device} {stream}: ";
  OutputFixture fixture(settings, 3);
  for (int rank = 0; rank < 3; ++rank) fixture.feed(rank, "a\n", Stream::err);
  EXPECT_EQ(fixture.shown_on_stderr(), "0-2 node1 0,1,2 0,1,2 stderr: a\n");
  OutputFixture many(folding(), 12);
  for (int rank = 0; rank < 12; rank += 2) many.feed(rank, "a\n");
  many.end_all();
  EXPECT_EQ(many.shown(), "[0,2,4,… 6 ranks] a\n");
  settings = folding();
  settings.tag = true;
  OutputFixture tagged(settings, 2);
  for (int rank = 0; rank < 2; ++rank) tagged.feed(rank, "a\n");
  EXPECT_EQ(tagged.shown(), "[1,0-1]<stdout>:a\n");
}

TEST(FoldChannel, StopsReadingIfTheReaderIsSlow) {
  OutputFixture fixture(folding(), 2);
  const std::string line(1000, 'x');
  std::size_t fed = 0;
  for (; fixture.output->ready(0, Stream::out) && fed < 10'000; ++fed) {
    for (int rank = 0; rank < 2; ++rank) fixture.feed(rank, line + "\n");
  }
  EXPECT_LT(fed, 3000U);
  EXPECT_EQ(fixture.shown().size(), fed * std::string("[0-1] \n").size() + fed * line.size());
  EXPECT_TRUE(fixture.output->ready(0, Stream::out));
}

TEST(FoldChannel, WritesFilesUnchanged) {
  const TempDir directory;
  OutputSettings settings = folding();
  settings.files = FileSettings{.target = directory / "logs"};
  OutputFixture fixture(settings, 2);
  for (int rank = 0; rank < 2; ++rank) fixture.feed(rank, "a\n");
  fixture.end_all();
  fixture.finish_files();
  EXPECT_EQ(fixture.shown(), "[0-1] a\n");
  EXPECT_EQ(content(directory / "logs/1/rank.1/stdout"), "a\n");
}

}  // namespace
}  // namespace dlaunch::output
