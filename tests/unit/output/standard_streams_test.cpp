#include "output/standard_streams.h"

#include <gmock/gmock.h>

#include <thread>

#include "stage.h"

namespace dlaunch::output {
namespace {

using Importance = StandardStreams::Importance;
using testing::ElementsAre;
using testing::EndsWith;

/// Our own stdout and stderr, whose readers read when told.
class Standard : public testing::Test {
 protected:
  Standard() { signal(SIGPIPE, SIG_IGN); }
  /// All that comes on stderr until nothing waits any more.
  std::string shown() {
    std::string all = err.read();
    while (!streams.waiting().empty()) {
      streams.flush(streams.writer(Stream::err));
      all += err.read();
    }
    return all;
  }
  /// Nobody reads: so much waits that no -v line does any more.
  void fill() {
    const std::string line = std::string(1023, 'x') + '\n';
    while (streams.writer(Stream::err).pending() + line.size() <= StandardStreams::kMostWaiting)
      streams.say(Importance::verbose, line);
  }

  Reader out, err;
  StandardStreams streams{{out.writer(), err.writer()}};
};

TEST_F(Standard, SaysWholeLinesBetweenThoseOfRanks) {
  streams.writer(Stream::err).write("of a rank");
  streams.say(Importance::note, "dlaunch: note: one\n");
  streams.say(Importance::needed, "dlaunch: two\n");
  EXPECT_EQ(shown(), "of a rank\ndlaunch: note: one\ndlaunch: two\n");
  EXPECT_EQ(out.read(), "");
}

TEST_F(Standard, WhatItSaysIsPrintable) {
  streams.say(Importance::needed, "dlaunch: \x1b]0;title\a\r\ndlaunch: \xff\n");
  EXPECT_EQ(shown(), "dlaunch: \\x1b]0;title\\x07\\x0d\ndlaunch: \\xff\n");
}

TEST_F(Standard, ASlowReaderHoldsNothingUpAndMissesOnlyWhatIsCounted) {
  fill();
  EXPECT_THAT(streams.waiting(), ElementsAre(&streams.writer(Stream::err)));
  const std::string verbose = "dlaunch: v" + std::string(2000, 'v') + '\n';
  for (int i = 0; i < 3; ++i) streams.say(Importance::verbose, verbose);
  streams.say(Importance::note, "dlaunch: note: n" + std::string(2000, 'n') + '\n');
  EXPECT_LE(streams.writer(Stream::err).pending(), StandardStreams::kMostWaiting);
  std::string all = shown();
  EXPECT_THAT(all, EndsWith("x\ndlaunch: 1 note and 3 lines of -v were not shown: nobody read stderr\n"));
  streams.say(Importance::verbose, "dlaunch: again\n");
  EXPECT_EQ(shown(), "dlaunch: again\n");
}

TEST_F(Standard, AnErrorIsNeverLeftOutAndComesBehindTheNumberOfWhatWas) {
  fill();
  streams.say(Importance::verbose, "dlaunch: " + std::string(2000, 'v') + '\n');
  streams.say(Importance::needed, "dlaunch: error\n");
  EXPECT_THAT(shown(), EndsWith("dlaunch: 1 line of -v was not shown: nobody read stderr\ndlaunch: error\n"));
}

TEST_F(Standard, AsksToBeFlushedOnlyWhenSomethingWaits) {
  int asked = 0;
  streams.on_waiting([&] { ++asked; });
  streams.say(Importance::needed, "dlaunch: taken\n");
  EXPECT_EQ(asked, 0);
  fill();
  EXPECT_GT(asked, 0);
}

TEST_F(Standard, AnOverlayIsNoLine) {
  streams.overlay("\r\x1b[Kstarting");
  EXPECT_FALSE(streams.writer(Stream::err).mid_line());
  streams.say(Importance::needed, "dlaunch: x\n");
  EXPECT_EQ(shown(), "\r\x1b[Kstartingdlaunch: x\n");
}

TEST_F(Standard, APipeThatAnotherMadeNonBlockingLosesNoByte) {
  fcntl(err.writer(), F_SETFL, O_NONBLOCK);
  fill();
  streams.say(Importance::needed, "dlaunch: last\n");
  EXPECT_THAT(shown(), EndsWith("x\ndlaunch: last\n"));
}

TEST_F(Standard, WhatIsGivenUpIsNotWaitedFor) {
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

TEST(StandardOne, OnePipeHasOneWriter) {
  Reader both;
  StandardStreams streams({both.writer(), both.writer()});
  EXPECT_TRUE(streams.are_one());
  streams.writer(Stream::out).write("half");
  streams.say(Importance::needed, "dlaunch: x\n");
  EXPECT_EQ(both.read(), "half\ndlaunch: x\n");
}

}  // namespace
}  // namespace dlaunch::output
