#include "output/bars.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "output_fixture.h"

namespace dlaunch::output {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(BarPosition, IsAPercentageOrAPair) {
  EXPECT_EQ(bar_position(" 12%|█▏        | 12/100 [00:01<00:09,  9.61it/s]"), 0.12);
  EXPECT_EQ(bar_position("step 3: 45.5 % done"), 0.455);
  EXPECT_EQ(bar_position("100%"), 1);
  EXPECT_EQ(bar_position("3/4 [====>   ]"), 0.75);
  EXPECT_EQ(bar_position("2.5M/10.0M [00:01, 2.4MB/s]"), 0.25);
  EXPECT_EQ(bar_position("500k/1M"), 0.5);
  for (const char* text :
       {"", "%", "12it [00:01]", "120%", "/dev/shm/1/2", "2026/11/29", "a/b", "5/0", "9/3", "\xff\0%", "/", "1/"}) {
    EXPECT_EQ(bar_position(text), std::nullopt) << text;
  }
  EXPECT_EQ(bar_position(std::string(100'000, '9') + "%"), std::nullopt);
}

Bars of_ranks(int ranks) {
  Bars bars;
  for (int rank = 0; rank < ranks; ++rank) bars.add("rank " + std::to_string(rank));
  return bars;
}

TEST(Bars, ShowsTheSlowestTheMedianAndTheFastest) {
  Bars bars = of_ranks(4);
  EXPECT_EQ(bars.text(), "");
  const int percent[] = {40, 12, 61, 35};
  for (int rank = 0; rank < 4; ++rank) bars.draw(rank, "train: " + std::to_string(percent[rank]) + "%|##| ");
  EXPECT_EQ(bars.text(), "slowest 12% (rank 1) · median 40% · fastest 61% (rank 2) · train: 12%|##|");
  for (int rank = 1; rank < 4; ++rank) bars.end(rank);
  EXPECT_EQ(bars.text(), "rank 0: train: 40%|##|");
  bars.end(0);
  EXPECT_EQ(bars.text(), "");
}

TEST(Bars, PlacesALaterBarAfterACompleteOne) {
  Bars bars = of_ranks(2);
  bars.draw(0, "100%");
  bars.end(0);
  bars.draw(0, "5%");
  bars.draw(1, "90%");
  EXPECT_EQ(bars.text(), "slowest bar 1: 90% (rank 1) · median bar 2: 5% · fastest bar 2: 5% (rank 0) · 90%");
}

TEST(Bars, ShowsTheLastTextWithoutAPosition) {
  Bars bars = of_ranks(3);
  bars.draw(2, "loading");
  bars.draw(0, "waiting");
  EXPECT_EQ(bars.text(), "rank 0: waiting");
  bars.end(0);
  EXPECT_EQ(bars.text(), "rank 2: loading");
}

TEST(Bars, DropsControlSequencesAndLongTexts) {
  Bars bars = of_ranks(1);
  bars.draw(0, "\x1b[A\x1b[32m 12% \x1b[0m\x1b[K");
  EXPECT_EQ(bars.text(), "rank 0: 12%");
  bars.draw(0, std::string(100'000, 'x'));
  EXPECT_LT(bars.text().size(), 500U);
  bars.draw(0, "\x1b[");
  EXPECT_EQ(bars.text(), "rank 0: ");
}

OutputSettings with_bars() {
  OutputSettings settings;
  settings.bars = true;
  settings.color = Color::never;
  return settings;
}

/// An OutputFixture whose only pipe counts as a terminal.
struct Terminal : OutputFixture {
  explicit Terminal(const OutputSettings& settings = with_bars(), int ranks = 2)
      : OutputFixture(settings, ranks, true, true, true) {}
};

TEST(BarChannel, PrintsOnlyTheLastTextOfATqdmBar) {
  Terminal fixture;
  for (int step = 0; step < 10; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      fixture.feed(rank, "\r " + std::to_string((step + rank) * 10) + "%|##|", Stream::err);
    }
    fixture.wait(200);
  }
  EXPECT_EQ(fixture.shown(), "");
  EXPECT_EQ(fixture.output->bars(), "slowest 90% (rank 0) · median 100% · fastest 100% (rank 1) · 90%|##|");
  fixture.feed(1, "\n", Stream::err);
  fixture.feed(0, "\r 100%|##|\nnext\n", Stream::err);
  EXPECT_EQ(fixture.shown(), " 100%|##|\n 100%|##|\nnext\n");
  EXPECT_EQ(fixture.output->bars(), "");
}

TEST(BarChannel, PrintsOnlyTheLastTextOfABarWithReturnsAtItsEnd) {
  Terminal fixture;
  fixture.feed(0, "10%\r20%\r");
  fixture.feed(0, "30%\r");
  fixture.wait(200);
  EXPECT_EQ(fixture.shown(), "");
  EXPECT_EQ(fixture.output->bars(), "rank 0: 30%");
  fixture.feed(0, "\n");
  EXPECT_EQ(fixture.shown(), "30%\r\n");
  fixture.feed(0, "40%\r\r\nx\r\ny\r\n");
  EXPECT_EQ(fixture.shown(), "40%\r\nx\r\ny\r\n");
}

TEST(BarChannel, PrintsABarAtTheEndOfItsStream) {
  Terminal fixture;
  fixture.feed(0, "10%\r20%\r");
  fixture.feed(1, "\r30%");
  fixture.end_all();
  EXPECT_EQ(fixture.shown(), "20%\n30%\n");
  EXPECT_EQ(fixture.output->bars(), "");
}

TEST(BarChannel, PrintsPromptsAndLinesAtOnce) {
  Terminal fixture;
  fixture.feed(0, "name? ");
  fixture.wait(100);
  EXPECT_EQ(fixture.shown(), "name? ");
  fixture.feed(0, "x\ny\n");
  EXPECT_EQ(fixture.shown(), "x\ny\n");
}

TEST(BarChannel, EndsAPartialLineBeforeABar) {
  Terminal fixture;
  fixture.feed(0, "loading ");
  fixture.wait(100);
  fixture.feed(0, "10%\r20%\r");
  EXPECT_EQ(fixture.shown(), "loading 10%\n");
  EXPECT_EQ(fixture.output->bars(), "rank 0: 20%");
  fixture.feed(1, "a");
  fixture.wait(100);
  fixture.feed(1, "b\r");
  fixture.feed(1, "\n");
  EXPECT_EQ(fixture.shown(), "ab\r\n");
}

TEST(BarChannel, PassesAPromptAfterAnErasedBar) {
  Terminal fixture;
  fixture.feed(0, "\r50%");
  fixture.feed(0, "\r      \rname? ");
  fixture.wait(100);
  EXPECT_EQ(fixture.output->bars(), "");
  EXPECT_EQ(fixture.shown(), "name? ");
}

TEST(BarChannel, ErasesTheStatusLineOnlyBeforeOutput) {
  Terminal fixture;
  int erased = 0;
  fixture.streams.before_showing([&] { ++erased; });
  fixture.feed(0, "\r50%");
  fixture.feed(1, "40%\r");
  EXPECT_EQ(erased, 0);
  fixture.feed(1, "line\n");
  EXPECT_EQ(erased, 1);
  fixture.streams.before_showing({});
}

TEST(BarChannel, FoldsTheLastTexts) {
  OutputSettings settings = with_bars();
  settings.fold = Fold::exact;
  Terminal fixture(settings, 3);
  for (int rank = 0; rank < 3; ++rank) fixture.feed(rank, "\r10%\r20%");
  for (int rank = 0; rank < 3; ++rank) fixture.feed(rank, "\r100%\n");
  EXPECT_EQ(fixture.shown(), "[0-2] 100%\n");
}

TEST(BarChannel, PassesBytesWithoutATerminalOrForOneRankOrAPty) {
  OutputFixture pipe(with_bars(), 2);
  pipe.feed(0, "10%\r20%\r");
  pipe.feed(0, "x");
  EXPECT_EQ(pipe.shown(), "10%\r20%\r");
  Terminal one(with_bars(), 1);
  one.feed(0, "10%\r20%\r");
  EXPECT_EQ(one.shown(), "10%\r20%\r");
  OutputSettings settings = with_bars();
  settings.pty = true;
  Terminal pty(settings);
  pty.feed(0, "10%\r20%\rx");
  EXPECT_EQ(pty.shown(), "10%\r20%\r");
  settings = with_bars();
  settings.bars = false;
  Terminal off(settings);
  off.feed(0, "10%\r20%\rx");
  EXPECT_EQ(off.shown(), "10%\r20%\r");
}

TEST(BarChannel, KeepsHostileTextInBounds) {
  Terminal fixture;
  const std::string long_text(1'000'000, 'x');
  fixture.feed(0, "\r" + long_text);
  fixture.feed(0, long_text + "\n");
  EXPECT_EQ(fixture.shown().size(), 2'000'001U);
  fixture.feed(0, std::string("\r\0\xff\x1b[2J 5%", 10));
  EXPECT_THAT(fixture.output->bars(), EndsWith("5%"));
  fixture.feed(0, "\r\r\r\r\r\r\n");
  fixture.end_all();
  EXPECT_EQ(fixture.shown(), std::string("\0\xff\x1b[2J 5%\r\n", 11));
}

/// The shown text has each line without the texts that a carriage return overwrote, for any borders of the reads.
TEST(BarChannel, DoesNotDependOnTheBordersOfReads) {
  const std::string text = "a\n\r1%\r2%\rb\r\n\rc\nlast\r\n  \r3%\n\r4%\r    \rd\n";
  const auto show = [](const std::string& all, std::size_t step) {
    Terminal fixture;
    for (std::size_t at = 0; at < all.size(); at += step) fixture.feed(0, all.substr(at, step));
    fixture.end_all();
    return fixture.shown();
  };
  const std::string whole = show(text, text.size());
  EXPECT_EQ(whole, "a\nb\r\nc\nlast\r\n3%\nd\n");
  for (std::size_t step = 1; step < text.size(); ++step) {
    std::string shown = show(text, step);
    EXPECT_THAT(shown, AllOf(HasSubstr("b\r\n"), HasSubstr("last\r\n"), HasSubstr("3%\n"), EndsWith("d\n"))) << step;
  }
}

}  // namespace
}  // namespace dlaunch::output
