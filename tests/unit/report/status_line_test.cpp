#include "report/status_line.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>

#include "report/lines.h"

namespace dlaunch::report {
namespace {

using namespace std::chrono_literals;
using Phase = JobStatus::Phase;
using testing::EndsWith;

const Time kNow{1000s};
const std::string kErased = "\x1b[J";

/// The status line below the cursor.
std::string drawn(const std::string& text) { return kErased + "\x1b\x44\x1b[A\x1b\x37\x1b\x45" + text + "\x1b\x38"; }

JobStatus starting(int started) { return {.phase = Phase::starting, .started = started, .total = 64}; }

TEST(StatusText, ShowsStartingRanks) { EXPECT_EQ(status_text(starting(12), kNow), "starting: 12 of 64 ranks"); }

TEST(StatusText, ShowsARemarkWhileStarting) {
  JobStatus status = starting(12);
  status.remark = "64 ranks on 2 CPUs: they will share cores";
  EXPECT_EQ(status_text(status, kNow), "starting: 12 of 64 ranks (64 ranks on 2 CPUs: they will share cores)");
  status.missing = "node7";
  EXPECT_EQ(status_text(status, kNow), "starting: waiting for node7 (64 ranks on 2 CPUs: they will share cores)");
}

TEST(StatusText, ShowsTheWaitForARound) {
  JobStatus status = starting(0);
  status.round = 2;
  status.start_at = kNow + 3500ms;
  EXPECT_EQ(status_text(status, kNow), "starting: round 2 in 4 s");
  EXPECT_EQ(status_text(status, kNow + 3s), "starting: round 2 in 1 s");
  EXPECT_EQ(status_text(status, kNow + 4s), "starting: 0 of 64 ranks");
  status.missing = "node7";
  EXPECT_EQ(status_text(status, kNow), "starting: waiting for node7");
}

TEST(StatusText, ShowsTheEnding) {
  JobStatus status{.phase = Phase::ending, .waiting = {5, 9, 10, 11}, .signal = SIGTERM, .kill_at = kNow + 3500ms};
  EXPECT_EQ(status_text(status, kNow), "ending: waiting for 4 ranks (TERM sent, KILL in 4 s): 5,9-11");
  EXPECT_EQ(status_text(status, kNow + 9s), "ending: waiting for 4 ranks (TERM sent, KILL in 0 s): 5,9-11");
  status.signal = SIGINT;
  EXPECT_EQ(status_text(status, kNow), "ending: waiting for 4 ranks (INT sent, KILL in 4 s): 5,9-11");
  status = {.phase = Phase::ending, .waiting = {5}};
  EXPECT_EQ(status_text(status, kNow), "ending: waiting for 1 rank (KILL sent): 5");
  EXPECT_EQ(status_text({.phase = Phase::ending}, kNow), "ending");
  EXPECT_EQ(status_text({}, kNow), "");
}

TEST(StatusText, ShowsRunningRanks) {
  JobStatus status{.live = 12, .hosts = 2, .since = kNow, .total = 16};
  EXPECT_EQ(status_text(status, kNow + 41s), "12/16 running · 00:41 · 2 hosts");
  EXPECT_EQ(status_text(status, kNow + 3723s, 3'100'000), "12/16 running · 1:02:03 · 2 hosts · 3.1 MB/s");
  status.hosts = 1;
  status.round = 2;
  EXPECT_EQ(status_text(status, kNow + 1s, 999), "12/16 running · 00:01 · round 3");
  EXPECT_EQ(status_text(status, kNow + 1s, 2'500), "12/16 running · 00:01 · round 3 · 2.5 kB/s");
  EXPECT_EQ(status_text(status, kNow + 1s, 2.5e12), "12/16 running · 00:01 · round 3 · 2500.0 GB/s");
}

TEST(StatusText, ShowsTheProgress) {
  JobStatus status{.live = 4, .reached = job::Reached{.ranks = 4, .least = 120, .most = 480, .last = 3}, .total = 4};
  EXPECT_EQ(status_text(status, kNow), "4/4 running · progress 120 (rank 3) to 480");
  status.reached->least = 480;
  EXPECT_EQ(status_text(status, kNow), "4/4 running · progress 480");
}

TEST(StatusText, ShowsTheWaitForADisk) {
  EXPECT_EQ(status_text({.disk_waits = true}, kNow), "ending: waiting for a disk to accept the output");
}

TEST(StatusText, IsCutBetweenCharacters) {
  EXPECT_EQ(cut_to("a·b·c", 4), "a·b·");
  EXPECT_EQ(cut_to("a·b", 9), "a·b");
  EXPECT_EQ(cut_to("·", 0), "");
  EXPECT_EQ(cut_to("训练 5%", 4), "训练");
  EXPECT_EQ(cut_to("训练 5%", 3), "训");
  EXPECT_EQ(cut_to("█▏🚀x", 4), "█▏🚀");
}

TEST(Rate, IsMeasuredOverTheLastSeconds) {
  Rate rate;
  EXPECT_EQ(rate.at(0, kNow), 0);
  EXPECT_EQ(rate.at(500, kNow + 500ms), 0);
  EXPECT_DOUBLE_EQ(rate.at(2000, kNow + 1s), 2000);
  EXPECT_DOUBLE_EQ(rate.at(2000, kNow + 2s), 0);
  EXPECT_DOUBLE_EQ(rate.at(3000, kNow + 2500ms), 1000.0 / 1.5);
}

class OnATerminal : public testing::Test {
 protected:
  OnATerminal() {
    winsize size{24, 40, 0, 0};
    if (::openpty(&master, &terminal, nullptr, nullptr, &size) != 0) throw std::runtime_error("openpty");
    streams.emplace(output::StandardStreams::Fds{terminal, terminal});
  }
  ~OnATerminal() override {
    ::close(master);
    ::close(terminal);
  }
  /// All text written so far. It reaches the other side late and in pieces, but before this mark.
  std::string shown() const {
    constexpr char kMark = 1;
    EXPECT_EQ(::write(terminal, &kMark, 1), 1);
    std::string bytes;
    char byte = 0;
    while (::read(master, &byte, 1) == 1 && byte != kMark) bytes += byte;
    return bytes;
  }
  int master = -1;
  int terminal = -1;
  std::optional<output::StandardStreams> streams;
};

TEST_F(OnATerminal, OmitsAShortPhase) {
  StatusLine line(*streams);
  line.update(starting(0), kNow);
  EXPECT_EQ(line.deadline(), kNow + 300ms);
  line.update(starting(64), kNow + 299ms);
  line.update({}, kNow + 299ms);
  EXPECT_EQ(line.deadline(), std::nullopt);
  line.tick(kNow + 1s);
  EXPECT_EQ(shown(), "");
}

TEST_F(OnATerminal, RewritesALongPhaseInPlaceAndRemovesTheLine) {
  StatusLine line(*streams);
  line.update(starting(1), kNow);
  line.tick(kNow + 300ms);
  EXPECT_EQ(shown(), drawn("starting: 1 of 64 ranks"));
  line.update(starting(2), kNow + 310ms);
  line.update(starting(3), kNow + 320ms);
  EXPECT_EQ(shown(), "");
  EXPECT_EQ(line.deadline(), kNow + 410ms);
  line.tick(kNow + 410ms);
  EXPECT_EQ(shown(), drawn("starting: 3 of 64 ranks"));
  line.update({}, kNow + 2s);
  EXPECT_EQ(shown(), kErased);
}

TEST_F(OnATerminal, CountsDownEverySecondAndReappearsAfterClear) {
  StatusLine line(*streams);
  line.update({.phase = Phase::ending, .waiting = {1}, .signal = SIGTERM, .kill_at = kNow + 5s}, kNow);
  line.tick(kNow + 300ms);
  EXPECT_EQ(line.deadline(), kNow + 1300ms);
  line.clear();
  EXPECT_EQ(shown(), drawn("ending: waiting for 1 rank (TERM sent, ") + kErased);
  line.clear();
  EXPECT_EQ(shown(), "");
  line.tick(kNow + 1300ms);
  EXPECT_EQ(shown(), drawn("ending: waiting for 1 rank (TERM sent, "));  // 39 of 40 columns
}

TEST_F(OnATerminal, NewPhaseWaitsAgainBeforeItIsShown) {
  StatusLine line(*streams);
  line.update(starting(1), kNow);
  line.tick(kNow + 300ms);
  line.update({.phase = Phase::ending, .waiting = {1}}, kNow + 400ms);
  EXPECT_EQ(shown(), drawn("starting: 1 of 64 ranks") + kErased);
  EXPECT_EQ(line.deadline(), kNow + 700ms);
}

TEST_F(OnATerminal, ShowsRunningRanksAfterATimeWithoutOutput) {
  StatusLine line(*streams, {.quiet = 2s});
  const JobStatus running{.live = 2, .since = kNow, .total = 2};
  line.update(running, kNow);
  line.tick(kNow + 1900ms);
  EXPECT_EQ(shown(), "");
  line.tick(kNow + 2s);
  EXPECT_EQ(shown(), drawn("2/2 running · 00:02"));
  line.tick(kNow + 3s);
  EXPECT_EQ(shown(), drawn("2/2 running · 00:03"));
  streams->say(output::StandardStreams::Importance::needed, "output\n");
  EXPECT_THAT(shown(), EndsWith("output\r\n"));
  line.tick(kNow + 4s);
  line.tick(kNow + 5900ms);
  EXPECT_EQ(shown(), "");
  line.tick(kNow + 6s);
  EXPECT_EQ(shown(), drawn("2/2 running · 00:06"));
}

TEST_F(OnATerminal, IsErasedAfterTheTerminalGotNarrower) {
  StatusLine line(*streams);
  line.update(starting(1), kNow);
  line.tick(kNow + 300ms);
  EXPECT_EQ(shown(), drawn("starting: 1 of 64 ranks"));
  winsize size{24, 20, 0, 0};
  ::ioctl(terminal, TIOCSWINSZ, &size);
  line.update(starting(2), kNow + 300ms);
  line.tick(kNow + 410ms);
  EXPECT_EQ(shown(), drawn("starting: 2 of 64 r"));
  size.ws_col = 10;
  ::ioctl(terminal, TIOCSWINSZ, &size);
  line.clear();
  EXPECT_EQ(shown(), kErased);
}

TEST_F(OnATerminal, ShowsBarsAtMost4TimesPerSecondAndAgainAfterOutput) {
  StatusLine line(*streams, {.quiet = 2s});
  JobStatus status{.live = 2, .since = kNow, .total = 2};
  status.bars = "10%";
  line.update(status, kNow);
  EXPECT_EQ(shown(), drawn("10%"));
  status.bars = "20%";
  line.update(status, kNow + 200ms);
  EXPECT_EQ(shown(), "");
  EXPECT_EQ(line.deadline(), kNow + 250ms);
  line.tick(kNow + 250ms);
  EXPECT_EQ(shown(), drawn("20%"));
  streams->say(output::StandardStreams::Importance::needed, "output\n");
  EXPECT_EQ(shown(), kErased + "output\r\n");
  line.update(status, kNow + 400ms);
  EXPECT_EQ(shown(), "");
  line.update(status, kNow + 600ms);
  EXPECT_EQ(shown(), drawn("20%"));
  status.bars.clear();
  line.update(status, kNow + 700ms);
  EXPECT_EQ(shown(), kErased);
}

TEST_F(OnATerminal, ShowsNoControlCharacterOfABar) {
  StatusLine line(*streams);
  line.update({.live = 1, .bars = "\x1b[2J\a5%", .total = 1}, kNow);
  EXPECT_EQ(shown(), drawn("\\x1b[2J\\x075%"));
}

TEST_F(OnATerminal, IsNeverDrawnIfItIsOff) {
  StatusLine line(*streams, {.drawn = false});
  line.update(starting(1), kNow);
  line.tick(kNow + 10s);
  EXPECT_EQ(shown(), "");
  EXPECT_EQ(line.deadline(), std::nullopt);
}

TEST_F(OnATerminal, DoesNotWaitForAStoppedTerminal) {
  ASSERT_EQ(::tcflow(terminal, TCOOFF), 0);
  StatusLine line(*streams);
  line.update(starting(1), kNow);
  line.tick(kNow + 300ms);  // would block forever
  ::tcflow(terminal, TCOON);
  EXPECT_EQ(shown(), "");
}

TEST_F(OnATerminal, IsRemovedBeforeOtherOutput) {
  StatusLine line(*streams);
  line.update(starting(1), kNow);
  line.tick(kNow + 300ms);
  streams->say(output::StandardStreams::Importance::needed, "dlaunch: said\n");
  EXPECT_EQ(shown(), drawn("starting: 1 of 64 ranks") + kErased + "dlaunch: said\r\n");
}

TEST_F(OnATerminal, IsNotDrawnOnTheUnfinishedLineOfARank) {
  StatusLine line(*streams);
  streams->writer(output::Stream::out).write("name? ");
  line.update(starting(1), kNow);
  line.tick(kNow + 300ms);
  EXPECT_EQ(shown(), "name? ");
}

TEST(StatusLineInAPipe, NothingIsShown) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  output::StandardStreams streams({ends[1], ends[1]});
  StatusLine line(streams);
  line.update(starting(1), kNow);
  EXPECT_EQ(line.deadline(), std::nullopt);
  line.tick(kNow + 1s);
  pollfd bytes{ends[0], POLLIN, 0};
  EXPECT_EQ(::poll(&bytes, 1, 0), 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace dlaunch::report
