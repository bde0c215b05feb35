#include <gmock/gmock.h>
#include <pty.h>
#include <sys/ioctl.h>

#include <array>
#include <chrono>
#include <thread>

#include "output/channel.h"
#include "output/label.h"
#include "output/record_channel.h"
#include "output_fixture.h"

namespace dlaunch::output {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr int kIdle = static_cast<int>(kPartialIdle.count());

OutputSettings labelled() {
  OutputSettings settings;
  settings.label = "{rank}:";
  return settings;
}

/// An OutputFixture whose pipes count as terminals: partial lines of idle streams are shown.
struct TerminalFixture : OutputFixture {
  explicit TerminalFixture(const OutputSettings& settings, int ranks, bool one_console = false)
      : OutputFixture(settings, ranks, one_console, true, true) {}
};

std::string filler(size_t size, char c = 'x') { return std::string(size, c); }

TEST(Lines, ShowsOnlyCompleteLines) {
  OutputFixture fixture({}, 2);
  fixture.feed(0, "one\ntw");
  fixture.feed(1, "uno\ndo");
  EXPECT_EQ(fixture.shown(), "one\nuno\n");
  fixture.feed(0, "o\n");
  fixture.feed(1, "s\ntres");
  EXPECT_EQ(fixture.shown(), "two\ndos\n");
  fixture.output->end(1, Stream::out, fixture.now);
  EXPECT_EQ(fixture.shown(), "tres");
}

TEST(Lines, AddsLabels) {
  OutputFixture fixture(labelled(), 2);
  fixture.feed(0, "a\nb");
  fixture.feed(1, "\n\n");
  fixture.feed(0, "c\nd\n");
  EXPECT_EQ(fixture.shown(), "0:a\n1:\n1:\n0:bc\n0:d\n");
}

TEST(Lines, KeepsStdoutAndStderrSeparate) {
  OutputFixture fixture(labelled(), 2);
  fixture.feed(0, "out\n");
  fixture.feed(0, "err\n", Stream::err);
  EXPECT_EQ(fixture.shown(), "0:out\n");
  EXPECT_EQ(fixture.shown_on_stderr(), "0:err\n");
  EXPECT_EQ(fixture.output->bytes(0, Stream::out), 4U);
  EXPECT_EQ(fixture.output->bytes(1, Stream::err), 0U);
}

TEST(Lines, AddsTagsOfOpenMpi) {
  OutputSettings settings;
  settings.tag = true;
  OutputFixture fixture(settings, 2, true);
  fixture.feed(1, "a\nb\n");
  fixture.feed(1, "c\n", Stream::err);
  EXPECT_EQ(fixture.shown(), "[1,1]<stdout>:a\n[1,1]<stdout>:b\n[1,1]<stderr>:c\n");
}

TEST(Lines, TerminalShowsAPartialLineWhenIdle) {
  TerminalFixture fixture({}, 2);
  EXPECT_FALSE(fixture.output->deadline());
  fixture.feed(0, "prompt> ");
  ASSERT_TRUE(fixture.output->deadline());
  EXPECT_EQ(*fixture.output->deadline(), fixture.now + kPartialIdle);
  fixture.wait(kIdle - 1);
  EXPECT_EQ(fixture.shown(), "");
  fixture.wait(1);
  EXPECT_EQ(fixture.shown(), "prompt> ");
  EXPECT_FALSE(fixture.output->deadline());
  fixture.feed(0, "yes\n");
  EXPECT_EQ(fixture.shown(), "yes\n");
}

TEST(Lines, PipeKeepsAPartialLineUntilItsEnd) {
  for (const std::string& half : {"half a "s, filler(kBulk)}) {
    OutputFixture fixture(labelled(), 2, true);
    fixture.feed(0, half);
    EXPECT_FALSE(fixture.output->deadline());
    fixture.wait_long(10s);
    fixture.feed(1, "other\n");
    fixture.feed(0, "err\n", Stream::err);
    fixture.wait_long(10s);
    EXPECT_EQ(fixture.shown(), "1:other\n0:err\n");
    fixture.feed(0, "line\n");
    EXPECT_EQ(fixture.shown(), "0:" + half + "line\n");
  }
}

TEST(Lines, PipeShowsAPartialLineAtTheEndOfItsStream) {
  OutputFixture fixture({}, 3);
  fixture.feed(0, "rest");
  fixture.feed(1, "dos\r");
  fixture.wait_long(3s);
  EXPECT_EQ(fixture.shown(), "");
  fixture.output->end(0, Stream::out, fixture.now);
  fixture.output->end(1, Stream::out, fixture.now);
  fixture.feed(2, "other\n");
  EXPECT_EQ(fixture.shown(), "rest\ndos\rother\n");
}

TEST(Lines, PipeReleasesAnIdleLongLine) {
  OutputFixture fixture(labelled(), 3);
  for (int i = 0; i < 70; ++i) fixture.feed(0, filler(1024));  // small writes
  fixture.feed(1, "waits\n");
  fixture.wait_long(1s);
  EXPECT_EQ(fixture.shown(), "0:" + filler(70 * 1024));
  fixture.wait_long(2s);
  EXPECT_EQ(fixture.shown(), "\n1:waits\n") << "rank 0 may wait for rank 1";
  fixture.feed(0, "re");
  fixture.wait_long(3s);
  EXPECT_EQ(fixture.shown(), "");
  fixture.feed(0, "st\n");
  EXPECT_EQ(fixture.shown(), "0:rest\n");
  EXPECT_FALSE(fixture.output->deadline());
}

TEST(Lines, StandardStreamsRecognizeATerminal) {
  int master = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
  Reader pipe;
  const StandardStreams one({terminal, pipe.writer()});
  EXPECT_TRUE(one.is_terminal(Stream::out));
  EXPECT_FALSE(one.is_terminal(Stream::err));
  const StandardStreams other({pipe.writer(), terminal});
  EXPECT_FALSE(other.is_terminal(Stream::out));
  EXPECT_TRUE(other.is_terminal(Stream::err));
  close(terminal);
  close(master);
}

TEST(Lines, WaitsLongerForALineCutByABlock) {
  TerminalFixture fixture({}, 2);
  const std::string block = filler(kBulk - 3, 'x') + "\nab";
  fixture.feed(0, block);
  fixture.wait(kIdle);
  fixture.feed(1, "other\n");
  EXPECT_EQ(fixture.shown(), filler(kBulk - 3, 'x') + "\nother\n");
  fixture.feed(0, "c");                                             // a piece of the same cut line
  for (int i = 0; i < kBulkPatience - 2; ++i) fixture.wait(kIdle);  // one idle time has passed
  EXPECT_EQ(fixture.shown(), "");
  fixture.wait(kIdle);
  EXPECT_EQ(fixture.shown(), "abc");
  fixture.feed(0, "\nprompt");  // small: only blocks wait longer
  fixture.wait(kIdle);
  EXPECT_EQ(fixture.shown(), "\nprompt");
}

TEST(Lines, FullReadOfATerminalIsABlock) {
  int master = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
  fcntl(terminal, F_SETFL, O_NONBLOCK);
  const std::string line = filler(60, 'x') + "\n";
  while (write(terminal, line.data(), line.size()) > 0) continue;
  std::array<char, 64 * 1024> some{};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int there = 0;  // the kernel transfers the bytes gradually
  while (there < static_cast<int>(kBulk) && std::chrono::steady_clock::now() < deadline)
    ioctl(master, FIONREAD, &there);
  EXPECT_GE(read(master, some.data(), some.size()), static_cast<ssize_t>(kBulk));  // sometimes several kernel buffers
  close(terminal);
  close(master);
}

TEST(Lines, SecondStreamStartsANewLine) {
  TerminalFixture fixture(labelled(), 2);
  fixture.feed(0, "part");
  fixture.wait(kIdle);
  fixture.feed(1, "other\n");
  fixture.feed(0, "rest\n");
  EXPECT_EQ(fixture.shown(), "0:part\n1:other\n0:rest\n");
}

/// A program writes the line in two parts with a pause between them, like Python's print().
TEST(Lines, InsertedNewlineReplacesTheNextNewline) {
  for (const auto& [settings, expected] : {std::pair{OutputSettings{}, "part\nother\nnext\n\nnext\n"},
                                           std::pair{labelled(), "0:part\n1:other\n0:next\n0:\n0:next\n"}}) {
    TerminalFixture fixture(settings, 2);
    fixture.feed(0, "part");
    fixture.wait(kIdle);
    fixture.feed(1, "other\n");
    fixture.feed(0, "\n");
    fixture.feed(0, "next\n\nnext\n");
    EXPECT_EQ(fixture.shown(), expected);
  }
}

TEST(Lines, SameStreamContinuesItsLineWithoutALabel) {
  TerminalFixture fixture(labelled(), 2);
  fixture.feed(0, "part");
  fixture.wait(kIdle);
  fixture.feed(0, " rest");
  fixture.wait(kIdle);
  fixture.feed(0, "!\nnext\n");
  EXPECT_EQ(fixture.shown(), "0:part rest!\n0:next\n");
}

TEST(Lines, StdoutAndStderrOnTheSameConsoleAreSeparateStreams) {
  TerminalFixture fixture({}, 2, true);
  fixture.feed(0, "out");
  fixture.wait(kIdle);
  fixture.feed(0, "err\n", Stream::err);
  EXPECT_EQ(fixture.shown(), "out\nerr\n");
}

TEST(Lines, NextStreamStartsANewLineAfterALastPartialLine) {
  OutputFixture fixture(labelled(), 2);
  fixture.feed(0, "no newline");
  fixture.output->end(0, Stream::out, fixture.now);
  EXPECT_EQ(fixture.shown(), "0:no newline");
  fixture.feed(1, "x");
  fixture.output->end(1, Stream::out, fixture.now);
  EXPECT_EQ(fixture.shown(), "\n1:x");
}

TEST(Lines, SingleRankIsUnchangedAndImmediate) {
  OutputFixture fixture({}, 1, true);
  fixture.feed(0, "a\0b\xff"s);
  fixture.feed(0, "err", Stream::err);
  fixture.feed(0, "c\r");
  EXPECT_EQ(fixture.shown(),
            "a\0b\xff"
            "errc\r"s);
  fixture.end_all();
  EXPECT_EQ(fixture.shown(), "");
}

TEST(Lines, KeepsNulsAndInvalidUtf8) {
  const std::string odd = "\0\x01\x80\xff\xc3(\n\0\n"s;
  OutputFixture fixture({}, 2);
  fixture.feed(0, odd);
  EXPECT_EQ(fixture.shown(), odd);
  OutputFixture with_labels(labelled(), 2);
  with_labels.feed(0, odd);
  EXPECT_EQ(with_labels.shown(), "0:\0\x01\x80\xff\xc3(\n0:\0\n"s);
}

TEST(Lines, CarriageReturnEndsARecord) {
  OutputFixture fixture(labelled(), 2);
  fixture.feed(0, "10%\r20%\r30%");
  fixture.feed(1, "x\r\n");
  EXPECT_EQ(fixture.shown(), "0:10%\r0:20%\r1:x\r\n");
}

TEST(Lines, CarriageReturnAtTheEndWaitsForItsNewline) {
  OutputFixture fixture(labelled(), 2);
  fixture.feed(0, "dos\r");
  EXPECT_EQ(fixture.shown(), "");
  fixture.feed(0, "\n");
  EXPECT_EQ(fixture.shown(), "0:dos\r\n");
  fixture.feed(0, "bar\r");
  fixture.feed(0, "bar2");
  EXPECT_EQ(fixture.shown(), "0:bar\r");
  fixture.output->end(0, Stream::out, fixture.now);
  EXPECT_EQ(fixture.shown(), "0:bar2");
}

TEST(Lines, LateNewlineAfterACarriageReturnDoesNotStartANewRecord) {
  TerminalFixture fixture(labelled(), 2);
  fixture.feed(0, "bar\r");
  fixture.wait(kIdle);
  EXPECT_EQ(fixture.shown(), "0:bar\r");
  fixture.feed(0, "\n");
  EXPECT_EQ(fixture.shown(), "\n");
  fixture.feed(0, "bar\r");
  fixture.wait(kIdle);
  fixture.feed(1, "other\n");
  fixture.feed(0, "next\n");
  EXPECT_EQ(fixture.shown(), "0:bar\r1:other\n0:next\n");
}

TEST(Lines, KeepsLinesOfAMebibyteWhole) {
  for (const bool with_label : {false, true}) {
    OutputFixture fixture(with_label ? labelled() : OutputSettings{}, 2);
    const std::string a = filler(1 << 20, 'a') + "\n";
    std::string got;
    for (size_t i = 0; i < a.size(); i += 50000) {
      fixture.feed(0, std::string_view(a).substr(i, 50000));
      got += fixture.shown();
    }
    fixture.feed(1, filler(1 << 20, 'b') + "\n");
    got += fixture.shown();
    EXPECT_EQ(got, (with_label ? "0:" : "") + a + (with_label ? "1:" : "") + filler(1 << 20, 'b') + "\n");
  }
}

TEST(Lines, LongLineBlocksOtherStreamsOfTheConsole) {
  OutputFixture fixture(labelled(), 3);
  fixture.feed(0, filler(kMaxHeld + 1));
  EXPECT_EQ(fixture.shown(), "0:" + filler(kMaxHeld + 1));
  EXPECT_TRUE(fixture.output->ready(0, Stream::out));
  EXPECT_FALSE(fixture.output->ready(1, Stream::out));
  EXPECT_TRUE(fixture.output->ready(1, Stream::err));  // another console
  fixture.feed(1, "in flight\n");
  fixture.feed(2, "me too");
  EXPECT_EQ(fixture.shown(), "");
  fixture.feed(0, "end\nnext");
  EXPECT_EQ(fixture.shown(), "end\n1:in flight\n");
  EXPECT_TRUE(fixture.output->ready(1, Stream::out));
  fixture.end_all();
  EXPECT_EQ(fixture.shown(), "0:next\n2:me too");
}

TEST(Lines, IdleLongLineReleasesTheConsole) {
  TerminalFixture fixture(labelled(), 2);
  fixture.feed(0, filler(kMaxHeld + 1));
  fixture.feed(1, "waits\n");
  fixture.shown();
  for (int i = 0; i < kBulkPatience; ++i) fixture.wait(kIdle);
  EXPECT_EQ(fixture.shown(), "\n1:waits\n");
  fixture.feed(0, "rest\n");
  EXPECT_EQ(fixture.shown(), "0:rest\n");
}

TEST(Lines, EndedStreamReleasesTheConsole) {
  OutputFixture fixture(labelled(), 2);
  fixture.feed(0, filler(kMaxHeld + 1));
  fixture.feed(1, "waits");
  fixture.output->end(1, Stream::out, fixture.now);
  fixture.shown();
  fixture.output->end(0, Stream::out, fixture.now);
  EXPECT_EQ(fixture.shown(), "\n1:waits");
}

TEST(Lines, PausedStreamIsNotIdle) {
  TerminalFixture fixture({}, 2);
  fixture.feed(0, "half a ");
  while (fixture.output->ready(1, Stream::out)) fixture.feed(1, filler(32 * 1024 - 1) + "\n");
  EXPECT_FALSE(fixture.output->ready(0, Stream::out));
  // the reader reads again, but the launcher has not read rank 0 yet
  EXPECT_THAT(fixture.shown(), Not(HasSubstr("half a ")));
  fixture.wait(kIdle);
  EXPECT_EQ(fixture.shown(), "");
  EXPECT_TRUE(fixture.output->ready(0, Stream::out));
  fixture.wait(kIdle);
  EXPECT_EQ(fixture.shown(), "");
  fixture.wait(kIdle);
  EXPECT_EQ(fixture.shown(), "half a ");
}

TEST(Lines, MessagesStartOnANewLine) {
  TerminalFixture fixture({}, 2, true);
  fixture.feed(0, "name? ");
  fixture.wait(kIdle);
  fixture.streams.say(StandardStreams::Importance::needed, "dlaunch: one\n");
  fixture.streams.say(StandardStreams::Importance::needed, "dlaunch: two\n");
  EXPECT_EQ(fixture.shown(), "name? \ndlaunch: one\ndlaunch: two\n");
}

TEST(Lines, StatusLineIsRemovedBeforeOutput) {
  OutputFixture fixture({}, 2);
  int taken_away = 0;
  fixture.streams.before_showing([&] {
    ++taken_away;
    EXPECT_EQ(fixture.out.read(), "");
  });
  fixture.feed(0, "line\n");
  EXPECT_EQ(taken_away, 1);
}

TEST(Lines, LongLineWithASlowReaderIsNotIdle) {
  OutputFixture fixture(labelled(), 2);
  fixture.feed(0, filler(3 << 20));
  ASSERT_FALSE(fixture.output->ready(0, Stream::out));
  fixture.feed(1, "waits\n");
  fixture.wait(kIdle);
  fixture.wait(kIdle);
  EXPECT_EQ(fixture.shown(), "0:" + filler(3 << 20));
  fixture.feed(0, "end\n");
  EXPECT_EQ(fixture.shown(), "end\n1:waits\n");
}

TEST(Lines, LongLinesOfManyRanksTakeTurns) {
  OutputFixture fixture({}, 2);
  std::string got;
  fixture.feed(0, filler(kMaxHeld * 2, 'a'));
  fixture.feed(0, "\n" + filler(kMaxHeld * 2, 'a'));
  got += fixture.out.read();
  EXPECT_TRUE(fixture.output->ready(1, Stream::out));
  EXPECT_FALSE(fixture.output->ready(0, Stream::out));
  EXPECT_EQ(*fixture.output->deadline(), fixture.now);
  fixture.feed(1, filler(kMaxHeld * 2, 'b') + "\n");
  fixture.wait(0);
  fixture.feed(0, "\n");
  got += fixture.shown();
  const std::string a = filler(kMaxHeld * 2, 'a') + "\n";
  EXPECT_EQ(got, a + a + filler(kMaxHeld * 2, 'b') + "\n");
}

TEST(Lines, SlowReaderPausesTheRanks) {
  for (const bool with_label : {false, true}) {
    OutputFixture fixture(with_label ? labelled() : OutputSettings{}, 4);
    const std::string lines = [] {
      std::string text;
      while (text.size() < 64 * 1024) text += "seventeen bytes.\n";
      return text;
    }();
    size_t fed = 0;
    while (fed < 100 && fixture.output->ready(static_cast<int>(fed % 4), Stream::out)) {
      fixture.feed(static_cast<int>(fed++ % 4), lines);
    }
    EXPECT_LT(fed, 40U);  // the limits of the pipe (1 MiB) and of the queue
    for (int rank = 0; rank < 4; ++rank) EXPECT_FALSE(fixture.output->ready(rank, Stream::out));
    EXPECT_TRUE(fixture.output->ready(0, Stream::err));
    EXPECT_THAT(fixture.output->waiting(), SizeIs(1));
    fixture.shown();
    EXPECT_TRUE(fixture.output->ready(0, Stream::out));
    EXPECT_THAT(fixture.output->waiting(), SizeIs(0));
  }
}

TEST(Lines, LabelsKeepTheQueueLimited) {
  OutputSettings settings;
  settings.label = filler(100, 'L');
  OutputFixture fixture(settings, 2);
  fixture.feed(0, filler(1 << 20, '\n'));  // 101 MiB with labels
  fixture.feed(1, "last\n");
  size_t total = 0;
  for (std::string some = fixture.out.read(); !some.empty(); some = fixture.out.read()) {
    total += some.size();
    fixture.flush();
    fixture.output->tick(fixture.now);
  }
  EXPECT_EQ(total, (size_t{1} << 20) * 101 + 105);
}

TEST(Lines, FlushAfterAllEndsShowsAllOutput) {
  OutputFixture fixture(labelled(), 3);
  fixture.feed(0, filler(2 << 20, '\n'));
  fixture.feed(1, filler(kMaxHeld + 1) + "\ny");
  fixture.feed(2, "z");
  fixture.end_all();
  size_t total = 0;
  while (!fixture.output->waiting().empty()) {
    total += fixture.out.read().size();
    fixture.flush();
  }
  total += fixture.out.read().size();
  EXPECT_EQ(total, (size_t{2} << 20) * 3 + (2 + kMaxHeld + 2) + 3 + 1 + 3);
}

TEST(Lines, ShowsOnlyChosenRanks) {
  OutputSettings settings = labelled();
  settings.console_ranks = {1, 2};
  OutputFixture fixture(settings, 3);
  for (int rank = 0; rank < 3; ++rank) fixture.feed(rank, "x\n");
  EXPECT_EQ(fixture.shown(), "1:x\n2:x\n");
}

TEST(Lines, RawModeForwardsBytesUnchanged) {
  OutputSettings settings;
  settings.mode = Mode::raw;
  OutputFixture fixture(settings, 2);
  fixture.feed(0, "a");
  fixture.feed(1, "b\n");
  fixture.feed(0, filler(4 << 20));
  EXPECT_FALSE(fixture.output->ready(1, Stream::out));
  EXPECT_EQ(fixture.shown(), "ab\n" + filler(4 << 20));
  EXPECT_TRUE(fixture.output->ready(1, Stream::out));
}

TEST(Lines, IgnoresAClosedPipe) {
  OutputFixture fixture({}, 2);
  fixture.out.close_reader();
  EXPECT_FALSE(fixture.output->reader_gone());
  fixture.feed(0, "x\n");
  EXPECT_TRUE(fixture.output->reader_gone());
  EXPECT_FALSE(fixture.output->take_error());
  fixture.feed(0, "more\n");
  EXPECT_EQ(fixture.output->bytes(0, Stream::out), 7U);
  EXPECT_TRUE(fixture.output->ready(0, Stream::out));
}

TEST(Lines, ReportsAFullStdoutOnce) {
  signal(SIGPIPE, SIG_IGN);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  Reader err;
  StandardStreams streams({full, err.writer()});
  auto output = std::move(*Output::open({}, facts_of(2), streams));
  output->feed(0, Stream::out, "x\n", Time{}, kWall);
  const auto error = output->take_error();
  ASSERT_TRUE(error);
  EXPECT_THAT(to_text(*error), StartsWith("dlaunch: cannot write stdout: No space left on device\n"));
  output->feed(0, Stream::out, "x\n", Time{}, kWall);
  EXPECT_FALSE(output->take_error());
  EXPECT_FALSE(output->reader_gone());
  close(full);
}

TEST(Lines, ColorsOnlyTheLabelOnATerminal) {
  int master = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
  fcntl(master, F_SETFL, O_NONBLOCK);
  OutputSettings settings = labelled();
  const auto shown = [&](Color color) {
    settings.color = color;
    StandardStreams streams({terminal, terminal});
    auto output = std::move(*Output::open(settings, facts_of(2), streams));
    output->feed(0, Stream::out, "x\n", Time{}, kWall);
    std::array<char, 100> some{};
    const ssize_t n = read(master, some.data(), some.size());
    return std::string(some.data(), n > 0 ? static_cast<size_t>(n) : 0);
  };
  EXPECT_EQ(shown(Color::automatic), "\x1b[36m0:\x1b[0mx\r\n");
  EXPECT_EQ(shown(Color::never), "0:x\r\n");
  close(terminal);
  close(master);
  OutputFixture fixture(labelled(), 2);
  fixture.feed(0, "x\n");
  EXPECT_EQ(fixture.shown(), "0:x\n");
}

TEST(Lines, RejectsAnInvalidLabel) {
  OutputSettings settings;
  settings.label = "{rnk}";
  StandardStreams streams({1, 2});
  const auto output = Output::open(settings, facts_of(1), streams);
  ASSERT_FALSE(output);
  EXPECT_THAT(to_text(output.error()), HasSubstr("{rank}"));
}

TEST(Lines, LastLinesAreOfStderr) {
  OutputFixture fixture({}, 2);
  for (int i = 0; i < 100; ++i) fixture.feed(0, "warning " + std::to_string(i) + "\n", Stream::err);
  fixture.feed(0, "out\n");
  const auto last = fixture.output->last_lines(0);
  const auto& words = last.lines;
  EXPECT_EQ(last.stream, "stderr");
  ASSERT_EQ(words.size(), static_cast<size_t>(kLastLines));
  EXPECT_EQ(words.front(), "warning 90");
  EXPECT_EQ(words.back(), "warning 99");
  EXPECT_THAT(fixture.output->last_lines(1).lines, ElementsAre());
  OutputSettings merged;
  merged.merge_stderr = true;
  OutputFixture one(merged, 2);
  one.feed(0, "Traceback\n");
  EXPECT_THAT(one.output->last_lines(0).lines, ElementsAre("Traceback"));
  EXPECT_EQ(one.output->last_lines(0).stream, "output");
}

TEST(Lines, LastLinesAreOfStdoutIfStderrIsBlank) {
  OutputFixture fixture({}, 2);
  for (int i = 0; i < 100; ++i) fixture.feed(0, "step " + std::to_string(i) + "\n");
  fixture.feed(0, " \n\t\n", Stream::err);
  const auto last = fixture.output->last_lines(0);
  ASSERT_EQ(last.lines.size(), static_cast<size_t>(kLastLines));
  EXPECT_EQ(last.lines.back(), "step 99");
  EXPECT_EQ(last.stream, "stdout");
  fixture.feed(0, "error\n", Stream::err);
  EXPECT_THAT(fixture.output->last_lines(0).lines, ElementsAre(" ", "\t", "error"));
  EXPECT_EQ(fixture.output->last_lines(0).stream, "stderr");
}

}  // namespace
}  // namespace dlaunch::output
