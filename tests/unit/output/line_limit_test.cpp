#include "output/line_limit.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "output_fixture.h"

namespace dlaunch::output {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

const Time kNow{1000s};

LineLimit two_per_second(int ranks) {
  LineLimit limit(2, {"/x/logs/1", "/x/logs/1"});
  for (int rank = 0; rank < ranks; ++rank) {
    limit.add(rank, Stream::out);
    limit.add(rank, Stream::err);
  }
  return limit;
}

bool admits(LineLimit& limit, int rank, Time now, Stream stream = Stream::out, std::size_t lines = 1) {
  const int source = rank * kStreams + static_cast<int>(stream);
  return limit.admits({&source, 1}, lines, now);
}

TEST(LineLimit, CountsTheLinesAfterTheFirstOfEachSecond) {
  LineLimit limit = two_per_second(3);
  EXPECT_TRUE(admits(limit, 0, kNow));
  EXPECT_TRUE(admits(limit, 1, kNow + 10ms));
  EXPECT_FALSE(limit.hides());
  for (int line = 0; line < 1234; ++line) EXPECT_FALSE(admits(limit, line % 3, kNow + 20ms));
  EXPECT_TRUE(limit.hides());
  EXPECT_EQ(limit.take_notes(kNow + 900ms), "");
  EXPECT_EQ(limit.take_notes(kNow + 1s), "… 1,234 stdout lines of 3 ranks not shown; see /x/logs/1\n");
  EXPECT_FALSE(limit.hides());
  EXPECT_TRUE(admits(limit, 0, kNow + 1s));
  EXPECT_TRUE(admits(limit, 0, kNow + 1s));
  EXPECT_FALSE(admits(limit, 0, kNow + 1s));
  EXPECT_EQ(limit.take_notes(), "… 1 stdout line of 1 rank not shown; see /x/logs/1\n");
  EXPECT_EQ(limit.take_notes(), "");
}

TEST(LineLimit, PassesFewLinesWithoutANote) {
  LineLimit limit = two_per_second(1);
  for (int line = 0; line < 100; ++line) EXPECT_TRUE(admits(limit, 0, kNow + line * 500ms));
  EXPECT_EQ(limit.take_notes(), "");
}

TEST(LineLimit, HidesNoLineOfStderrDuringAFloodOfStdout) {
  LineLimit limit = two_per_second(1);
  for (int line = 0; line < 100; ++line) admits(limit, 0, kNow);
  EXPECT_TRUE(admits(limit, 0, kNow, Stream::err));
}

TEST(LineLimit, DoesNotCutATraceback) {
  LineLimit limit = two_per_second(1);
  EXPECT_TRUE(admits(limit, 0, kNow));
  EXPECT_TRUE(admits(limit, 0, kNow, Stream::out, 9));
  EXPECT_FALSE(admits(limit, 0, kNow, Stream::out, 9));
  EXPECT_THAT(limit.take_notes(), HasSubstr("… 9 stdout lines"));
}

TEST(LineLimit, PassesAllLinesAfterAFailedFile) {
  LineLimit limit = two_per_second(1);
  for (int line = 0; line < 3; ++line) admits(limit, 0, kNow);
  limit.lift();
  EXPECT_TRUE(admits(limit, 0, kNow));
  EXPECT_THAT(limit.take_notes(kNow + 1s), HasSubstr("1 stdout line "));
}

OutputSettings limited(const std::string& directory, int most = 2) {
  OutputSettings settings;
  settings.files = FileSettings{.target = directory};
  settings.console_rate = most;
  return settings;
}

std::string lines(int count, const std::string& text = "x") {
  std::string all;
  for (int line = 0; line < count; ++line) all += text + std::to_string(line) + '\n';
  return all;
}

TEST(LimitedConsole, PrintsTheNumberOfHiddenLinesEachSecondAndAtTheEnd) {
  const TempDir dir;
  OutputFixture fixture(limited(dir / "logs"), 3);
  const std::string note = " not shown; see " + (dir / "logs/1\n");
  for (int rank = 0; rank < 3; ++rank) fixture.feed(rank, lines(5));
  EXPECT_EQ(fixture.shown(), "x0\nx1\n");
  for (int tick = 0; tick < 10; ++tick) fixture.wait(100);
  EXPECT_EQ(fixture.shown(), "… 13 stdout lines of 3 ranks" + note);
  fixture.feed(1, lines(3, "y"));
  EXPECT_EQ(fixture.shown(), "y0\ny1\n");
  fixture.end_all();
  fixture.finish_files();
  EXPECT_EQ(fixture.shown(), "… 1 stdout line of 1 rank" + note);
  EXPECT_EQ(content(dir / "logs/1/rank.1/stdout"), lines(5) + lines(3, "y"));
}

TEST(LimitedConsole, LimitsOneRankWithoutALabel) {
  const TempDir dir;
  OutputFixture fixture(limited(dir / "logs"), 1);
  fixture.feed(0, lines(5));
  fixture.end_all();
  fixture.finish_files();
  EXPECT_THAT(fixture.shown(), testing::StartsWith("x0\nx1\n… 3 stdout lines of 1 rank"));
}

TEST(LimitedConsole, ShowsAPromptAfterTheNumberOfHiddenLines) {
  const TempDir dir;
  OutputFixture fixture(limited(dir / "logs"), 1, true, true, true);
  fixture.feed(0, lines(5) + "continue? ");
  EXPECT_EQ(fixture.shown(), "x0\nx1\n");
  fixture.wait(100);
  fixture.wait(100);
  EXPECT_EQ(fixture.shown(), "… 3 stdout lines of 1 rank not shown; see " + (dir / "logs/1\n") + "continue? ");
  fixture.feed(0, "partial");
  fixture.end_all();
  fixture.finish_files();
  EXPECT_EQ(fixture.shown(), "partial");
}

TEST(LimitedConsole, CountsAFoldedLineOnce) {
  const TempDir dir;
  OutputSettings settings = limited(dir / "logs");
  settings.fold = Fold::exact;
  OutputFixture fixture(settings, 3);
  for (int rank = 0; rank < 3; ++rank) fixture.feed(rank, lines(4));
  EXPECT_EQ(fixture.shown(), "[0-2] x0\n[0-2] x1\n");
  fixture.end_all();
  fixture.finish_files();
  EXPECT_EQ(fixture.shown(), "… 2 stdout lines of 3 ranks not shown; see " + (dir / "logs/1\n"));
}

TEST(LimitedConsole, PrintsTheNumberBeforeAMessage) {
  const TempDir dir;
  OutputFixture fixture(limited(dir / "logs"), 2, true);
  fixture.feed(0, lines(4));
  fixture.streams.say(StandardStreams::Importance::needed, "dlaunch: told\n");
  EXPECT_THAT(fixture.shown(), EndsWith("/logs/1\ndlaunch: told\n"));
}

TEST(LimitedConsole, HidesLongLinesAsAWhole) {
  const TempDir dir;
  OutputFixture fixture(limited(dir / "logs", 1), 2);
  const std::string part(40'000, 'z');
  for (int line = 0; line < 3; ++line) {
    for (int i = 0; i < 10; ++i) fixture.feed(0, part);
    fixture.feed(0, "\n");
  }
  fixture.feed(1, "b\n");
  fixture.end_all();
  fixture.finish_files();
  const std::string shown = fixture.shown();
  EXPECT_EQ(std::ranges::count(shown.substr(0, shown.find("…")), 'z'), 400'000);  // the path may have this letter
  EXPECT_THAT(shown, HasSubstr("z\n… 3 stdout lines of 2 ranks"));
}

TEST(LimitedConsole, DoesNotHideALineThatBeganAsAPrompt) {
  const TempDir dir;
  OutputSettings settings = limited(dir / "logs", 1);
  settings.color = Color::never;
  OutputFixture fixture(settings, 2, true, true, true);
  fixture.feed(0, "a\n");
  fixture.feed(1, "name? ");
  fixture.wait(100);
  fixture.feed(1, "x\n");
  fixture.feed(0, "b\n");
  fixture.end_all();
  fixture.finish_files();
  EXPECT_EQ(fixture.shown(), "a\nname? x\n… 1 stdout line of 1 rank not shown; see " + (dir / "logs/1\n"));
}

TEST(LimitedConsole, CountsCarriageReturns) {
  const TempDir dir;
  OutputFixture fixture(limited(dir / "logs"), 2);
  for (int step = 0; step < 9; ++step) fixture.feed(0, "10 %\r");
  fixture.end_all();
  fixture.finish_files();
  EXPECT_EQ(fixture.shown(), "10 %\r10 %\r… 7 stdout lines of 1 rank not shown; see " + (dir / "logs/1\n"));
}

/// The child process that writes the files. Other tests may have left one.
int disk_process() {
  std::ifstream children("/proc/thread-self/children");
  int newest = 0;
  for (int pid = 0; children >> pid;) {
    if (content("/proc/" + std::to_string(pid) + "/comm") == "dlaunch-files\n") newest = pid;
  }
  return newest;
}

TEST(LimitedConsole, CountsLinesThatWaitedForTheirFile) {
  const TempDir dir;
  OutputSettings settings = limited("");
  settings.files =
      FileSettings{.target = dir / "shared", .by_stream = true, .err_target = dir / "err", .copy_err = true};
  settings.label = "<{rank}>";
  OutputFixture fixture(settings, 2);
  std::string many;
  constexpr int kLines = 400'000;
  for (int line = 0; line < kLines; ++line) many += "a line\n";
  const int pid = disk_process();
  ASSERT_GT(pid, 0);
  ::kill(pid, SIGSTOP);
  fixture.feed(0, many);
  ::kill(pid, SIGCONT);
  for (std::uint64_t before = 0; before != fixture.output->files_progress(); fixture.wait_for_disk()) {
    before = fixture.output->files_progress();
    fixture.flush();
  }
  fixture.feed(1, "other\n");  // all bytes that the disk process got are written
  ::kill(pid, SIGKILL);
  fixture.end_all();
  fixture.finish_files();
  const std::string text = content(dir / "shared");
  const auto missing = kLines - std::ranges::count(text, '\n');
  ASSERT_GT(missing, 0);
  std::string told;
  while (const auto error = fixture.output->take_error()) told += to_text(*error);
  const std::string_view start = "up to ";
  ASSERT_NE(told.find(start), std::string::npos) << told;
  EXPECT_GE(std::stol(told.substr(told.find(start) + start.size())), missing - 10) << told;
}

TEST(LimitedConsole, HasNoLimitWithoutFiles) {
  OutputSettings settings;
  settings.console_rate = 1;
  OutputFixture fixture(settings, 2);
  fixture.feed(0, lines(5));
  EXPECT_EQ(fixture.shown(), lines(5));
}

}  // namespace
}  // namespace dlaunch::output
