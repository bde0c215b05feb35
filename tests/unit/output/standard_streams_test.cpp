#include "output/standard_streams.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <thread>

#include "output_fixture.h"

namespace dlaunch::output {
namespace {

using Importance = StandardStreams::Importance;
using testing::ElementsAre;
using testing::EndsWith;

/// The process's stdout and stderr; the test decides when their readers read.
class Standard : public testing::Test {
 protected:
  Standard() { signal(SIGPIPE, SIG_IGN); }
  /// All text on stderr until no bytes wait.
  std::string shown() {
    std::string all = err.read();
    while (!streams.waiting().empty()) {
      streams.flush(streams.writer(Stream::err));
      all += err.read();
    }
    return all;
  }
  /// Fills the queue without a reader, so that -v lines are dropped.
  void fill() {
    const std::string line = std::string(1023, 'x') + '\n';
    while (streams.writer(Stream::err).pending() + line.size() <= StandardStreams::kMostWaiting)
      streams.say(Importance::verbose, line);
  }

  Reader out, err;
  StandardStreams streams{{out.writer(), err.writer()}};
};

TEST_F(Standard, PrintsCompleteLinesBetweenLinesOfRanks) {
  streams.writer(Stream::err).write("of a rank");
  streams.say(Importance::note, "dlaunch: note: one\n");
  streams.say(Importance::needed, "dlaunch: two\n");
  EXPECT_EQ(shown(), "of a rank\ndlaunch: note: one\ndlaunch: two\n");
  EXPECT_EQ(out.read(), "");
}

TEST_F(Standard, EscapesMessages) {
  streams.say(Importance::needed, "dlaunch: \x1b]0;title\a\r\ndlaunch: \xff\n");
  EXPECT_EQ(shown(), "dlaunch: \\x1b]0;title\\x07\\x0d\ndlaunch: \\xff\n");
}

TEST_F(Standard, CountsDroppedLinesOfASlowReader) {
  fill();
  EXPECT_THAT(streams.waiting(), ElementsAre(&streams.writer(Stream::err)));
  const std::string verbose = "dlaunch: v" + std::string(2000, 'v') + '\n';
  for (int i = 0; i < 3; ++i) streams.say(Importance::verbose, verbose);
  streams.say(Importance::note, "dlaunch: note: n" + std::string(2000, 'n') + '\n');
  EXPECT_LE(streams.writer(Stream::err).pending(), StandardStreams::kMostWaiting);
  std::string all = shown();
  EXPECT_THAT(all, EndsWith("x\ndlaunch: 1 note and 3 lines of -v were dropped: stderr was not read in time\n"));
  streams.say(Importance::verbose, "dlaunch: again\n");
  EXPECT_EQ(shown(), "dlaunch: again\n");
}

TEST_F(Standard, ErrorsAreKeptAndFollowTheCountOfDroppedLines) {
  fill();
  streams.say(Importance::verbose, "dlaunch: " + std::string(2000, 'v') + '\n');
  streams.say(Importance::needed, "dlaunch: error\n");
  EXPECT_THAT(shown(), EndsWith("dlaunch: 1 line of -v was dropped: stderr was not read in time\ndlaunch: error\n"));
}

TEST_F(Standard, IsWaitingOnlyWithQueuedBytes) {
  int asked = 0;
  streams.on_waiting([&] { ++asked; });
  streams.say(Importance::needed, "dlaunch: taken\n");
  EXPECT_EQ(asked, 0);
  fill();
  EXPECT_GT(asked, 0);
}

TEST_F(Standard, OverlayIsNotALine) {
  streams.overlay("\r\x1b[Kstarting");
  EXPECT_FALSE(streams.writer(Stream::err).mid_line());
  streams.say(Importance::needed, "dlaunch: x\n");
  EXPECT_EQ(shown(), "\r\x1b[Kstartingdlaunch: x\n");
}

TEST_F(Standard, PipeMadeNonBlockingElsewhereLosesNoByte) {
  fcntl(err.writer(), F_SETFL, O_NONBLOCK);
  fill();
  streams.say(Importance::needed, "dlaunch: last\n");
  EXPECT_THAT(shown(), EndsWith("x\ndlaunch: last\n"));
}

TEST_F(Standard, DoesNotWaitAfterGiveUp) {
  fill();
  streams.give_up();
  EXPECT_THAT(streams.waiting(), ElementsAre());
  streams.wait_written();
}

TEST_F(Standard, WaitsForAReaderAtTheEnd) {
  fill();
  std::string all;
  std::thread reader([&] {
    while (!all.ends_with("end\n")) all += err.read();
  });
  streams.say(Importance::needed, "dlaunch: end\n");
  streams.wait_written();
  reader.join();
  EXPECT_THAT(all, EndsWith("x\ndlaunch: end\n"));
}

TEST(StandardFailed, RetriesOnlyNeededLines) {
  signal(SIGPIPE, SIG_IGN);
  const TempDir dir;
  const std::string path = dir / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int first_reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int err = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  Reader out;
  StandardStreams streams({out.writer(), err});
  close(first_reader);
  streams.writer(Stream::err).write("of a rank\n");
  EXPECT_EQ(streams.writer(Stream::err).error(), EPIPE);
  streams.say(Importance::needed, "dlaunch: nobody reads\n");
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  streams.writer(Stream::err).write("of a rank, after lost bytes\n");
  streams.say(Importance::note, "dlaunch: note: x\n");
  streams.say(Importance::needed, "dlaunch: cannot write stderr\n");
  streams.say(Importance::needed, "dlaunch: end\n");
  std::array<char, 256> some{};
  const ssize_t length = read(reader, some.data(), some.size());
  EXPECT_EQ(std::string(some.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))),
            "\ndlaunch: cannot write stderr\ndlaunch: end\n");
  EXPECT_EQ(streams.writer(Stream::err).error(), EPIPE);
  close(reader);
  close(err);
}

TEST(StandardOne, SharedPipeHasASingleWriter) {
  Reader both;
  StandardStreams streams({both.writer(), both.writer()});
  EXPECT_TRUE(streams.are_one());
  streams.writer(Stream::out).write("half");
  streams.say(Importance::needed, "dlaunch: x\n");
  EXPECT_EQ(both.read(), "half\ndlaunch: x\n");
}

}  // namespace
}  // namespace dlaunch::output
