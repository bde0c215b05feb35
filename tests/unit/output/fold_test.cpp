#include "output/fold.h"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace dlaunch::output {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr int kOut = 0;
constexpr int kErr = 1;

OwnWords own(int rank) {
  OwnWords words(rank, rank % 4, rank % 4, "node" + std::to_string(rank / 4) + ".cluster");
  words.set_pid(4000 + rank);
  return words;
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
  return "[" + text + "] ";
}

/// A Folder with a stream per rank, and a clock.
class Folding {
 public:
  explicit Folding(int ranks, Fold level = Fold::exact, int groups = 1)
      : folder(level, [this](const FoldedUnit& unit) { show(unit); }), ranks_(ranks) {
    for (int group = 0; group < groups; ++group) {
      for (int rank = 0; rank < ranks; ++rank) folder.add(group, rank, own(rank));
    }
  }
  void feed(int rank, const std::string& text, int group = kOut) {
    const std::string line = text + "\n";
    folder.feed(group * ranks_ + rank, line, now, ++wall);
  }
  void feed_all(const std::string& text) {
    for (int rank = 0; rank < ranks_; ++rank) feed(rank, text);
  }
  void feed_lines(int rank, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) feed(rank, line);
  }
  void end(int rank) { folder.end(rank); }
  void wait(std::chrono::milliseconds time) {
    now += time;
    folder.tick(now);
  }
  std::vector<std::string> shown() { return std::exchange(shown_, {}); }
  std::vector<std::string> flushed() {
    folder.flush();
    return shown();
  }

  Time now{1h};
  Folder folder;
  std::int64_t wall = 0;
  std::function<void(const std::vector<int>&, const std::string&)> on_show = {};

 private:
  void show(const FoldedUnit& unit) {
    std::vector<int> ranks(unit.sources.begin(), unit.sources.end());
    for (int& rank : ranks) rank %= ranks_;
    const std::string text(unit.text.substr(0, unit.text.size() - 1));
    if (on_show) on_show(ranks, text);
    shown_.push_back(ranks_text(ranks) + text);
  }

  int ranks_;
  std::vector<std::string> shown_;
};

TEST(Fold, ShowsAnEqualLineOnceAllRanksWroteIt) {
  Folding job(3);
  job.feed(0, "a");
  job.feed(2, "a");
  EXPECT_THAT(job.shown(), IsEmpty());
  job.feed(1, "a");
  EXPECT_THAT(job.shown(), ElementsAre("[0,1,2] a"));
  EXPECT_FALSE(job.folder.holds());
}

TEST(Fold, NamesTheRankThatDiffers) {
  Folding job(4);
  for (int rank = 0; rank < 4; ++rank) job.feed(rank, rank == 2 ? "4 channels" : "8 channels");
  EXPECT_THAT(job.flushed(), ElementsAre("[0,1,3] 8 channels", "[2] 4 channels"));
}

TEST(Fold, HoldsALineForAtMostAQuarterOfASecond) {
  Folding job(2);
  EXPECT_EQ(job.folder.deadline(), std::nullopt);
  job.feed(0, "a");
  EXPECT_EQ(job.folder.deadline(), job.now + 250ms);
  job.wait(249ms);
  EXPECT_THAT(job.shown(), IsEmpty());
  job.wait(1ms);
  EXPECT_THAT(job.shown(), ElementsAre("[0] a"));
  job.feed(1, "a");
  EXPECT_THAT(job.flushed(), ElementsAre("[1] a"));
}

TEST(Fold, DoesNotWaitForEndedRanks) {
  Folding job(3);
  job.end(1);
  job.feed(0, "a");
  job.feed(2, "a");
  EXPECT_THAT(job.shown(), ElementsAre("[0,2] a"));
  job.feed(0, "b");
  job.end(2);
  EXPECT_THAT(job.shown(), ElementsAre("[0] b"));
  job.feed(0, "last");
  job.end(0);
  EXPECT_THAT(job.shown(), ElementsAre("[0] last"));
}

TEST(Fold, DoesNotMergeLinesOfOneRank) {
  Folding job(2);
  job.feed_lines(0, {"a", "a", "b"});
  job.feed_lines(1, {"a", "a", "b"});
  EXPECT_THAT(job.shown(), ElementsAre("[0,1] a", "[0,1] a", "[0,1] b"));
}

TEST(Fold, KeepsTheOrderOfEachRank) {
  Folding job(2);
  job.feed_lines(0, {"a", "b"});
  job.feed_lines(1, {"b", "a"});
  EXPECT_THAT(job.flushed(), ElementsAre("[0] a", "[0,1] b", "[1] a"));
}

TEST(Fold, DoesNotMergeStreams) {
  Folding job(2, Fold::exact, 2);
  job.feed(0, "a", kOut);
  job.feed(1, "a", kErr);
  job.feed(1, "a", kOut);
  EXPECT_THAT(job.flushed(), ElementsAre("[0] a", "[1] a", "[1] a"));
  job.feed(0, "b", kOut);
  job.feed(0, "c", kErr);
  job.feed(1, "c", kErr);
  job.feed(1, "b", kOut);  // rank 1 wrote c first
  EXPECT_THAT(job.flushed(), ElementsAre("[0] b", "[0,1] c", "[1] b"));
}

TEST(Fold, LimitsWhatItHolds) {
  Folding job(2);
  for (std::size_t i = 0; i < kMostEntries + 10; ++i) job.feed(0, std::to_string(i));
  EXPECT_THAT(job.shown(), SizeIs(10));
  EXPECT_THAT(job.flushed(), SizeIs(kMostEntries));
  Folding large(2);
  for (int i = 0; i < 30; ++i) large.feed(0, std::string(60'000, 'x'));
  EXPECT_THAT(large.shown(), SizeIs(13));
}

TEST(Fold, JoinsFastRanksThatWriteOneAfterAnother) {
  for (const Fold level : {Fold::exact, Fold::own}) {
    Folding job(16, level);
    for (int rank = 0; rank < 16; ++rank) {
      for (int i = 0; i < 8000; ++i) job.feed(rank, "line " + std::to_string(i));
    }
    EXPECT_THAT(job.shown(), SizeIs(8000));
  }
}

TEST(Fold, ARankFarAheadWaitsForTheOthers) {
  Folding job(2);
  EXPECT_FALSE(job.folder.must_wait(0, job.now));
  for (std::size_t i = 0; i <= kMostAhead; ++i) job.feed(0, std::to_string(i));
  EXPECT_TRUE(job.folder.must_wait(0, job.now));
  EXPECT_FALSE(job.folder.must_wait(1, job.now));
  job.feed(1, "0");
  EXPECT_FALSE(job.folder.must_wait(0, job.now));
  for (int i = 0; i < 20; ++i) job.feed(0, std::string(60'000, 'x'));
  EXPECT_TRUE(job.folder.must_wait(0, job.now));
}

TEST(Fold, AWaitIsAPartOfTheDelay) {
  Folding job(2);
  for (std::size_t i = 0; i <= kMostAhead; ++i) job.feed(0, std::to_string(i));
  job.folder.waits(0, job.now);
  job.wait(200ms);
  const Time since = job.folder.take_wait(0, job.now);
  EXPECT_EQ(since, job.now - 200ms);
  EXPECT_EQ(job.folder.take_wait(0, job.now), job.now);
  job.folder.feed(0, "late\n", since, 1);
  job.wait(50ms);
  EXPECT_THAT(job.shown(), SizeIs(kMostAhead + 2));
}

TEST(Fold, NoRankWaitsForASilentRankForLong) {
  Folding job(2);
  for (const auto pause : {1s, 2s}) {
    for (std::size_t i = 0; i <= kMostAhead; ++i) job.feed(0, std::to_string(i));
    EXPECT_TRUE(job.folder.must_wait(0, job.now));
    job.wait(250ms);
    for (std::size_t i = 0; i <= kMostAhead; ++i) job.feed(0, std::to_string(i));
    EXPECT_FALSE(job.folder.must_wait(0, job.now));
    EXPECT_FALSE(job.folder.must_wait(0, job.now + pause - 1ms));
    job.folder.flush();
    job.wait(pause);
  }
}

TEST(Fold, StopsForASecondIfItDoesNotPay) {
  Folding job(2);
  for (std::size_t i = 0; i < kMostEntries + kTrialUnits; ++i) job.feed(0, std::to_string(i));
  EXPECT_THAT(job.shown(), SizeIs(kMostEntries + kTrialUnits));
  EXPECT_FALSE(job.folder.folds(job.now));
  job.feed_all("plain");
  EXPECT_THAT(job.shown(), ElementsAre("[0] plain", "[1] plain"));
  job.wait(1s);
  job.feed_all("again");
  EXPECT_THAT(job.shown(), ElementsAre("[0,1] again"));
}

TEST(Fold, ContinuesIfItPays) {
  Folding job(8);
  for (std::size_t i = 0; i < 3 * kTrialUnits; ++i) job.feed_all("line " + std::to_string(i));
  EXPECT_THAT(job.shown(), SizeIs(3 * kTrialUnits));
  EXPECT_TRUE(job.folder.folds(job.now));
}

// ---- levels ----

/// The lines that three ranks show if rank R writes make(R).
template <class Make>
std::vector<std::string> folded(Fold level, Make make) {
  Folding job(3, level);
  for (int rank = 0; rank < 3; ++rank) job.feed(rank, make(rank));
  return job.flushed();
}

TEST(Fold, ExactComparesBytes) {
  EXPECT_THAT(folded(Fold::exact, [](int rank) { return "rank " + std::to_string(rank); }), SizeIs(3));
}

TEST(Fold, OwnLeavesOutAddressesAndTheTime) {
  for (const auto& [before, after] : std::map<std::string, std::string>{{"at 0x7f0", "0c0 in f"},
                                                                        {"2026-11-29 12:00:0", ",123 INFO go"},
                                                                        {"I1129 12:00:0", ".123456 go"},
                                                                        {"12:00:0", " go"}}) {
    const auto make = [&](int rank) { return before + std::to_string(rank) + after; };
    EXPECT_THAT(folded(Fold::own, make), ElementsAre("[0,1,2] " + make(0))) << before;
  }
}

TEST(Fold, OwnShowsTheRangeOfTheNumbersOfTheRank) {
  for (const std::string line :
       {"rank # starts", "Rank=#", "[rank#]: hello", "global_rank: #, size 3", "local rank #", "device cuda:#"}) {
    const auto with = [&](const std::string& number) { return std::string(line).replace(line.find('#'), 1, number); };
    const auto make = [&](int rank) { return with(std::to_string(rank)); };
    EXPECT_THAT(folded(Fold::own, make), ElementsAre("[0,1,2] " + with("{0…2}")));
  }
  EXPECT_THAT(folded(Fold::own, [](int rank) { return "pid " + std::to_string(4000 + rank) + " runs"; }),
              ElementsAre("[0,1,2] pid {4000…4002} runs"));
}

TEST(Fold, OwnAlsoJoinsEqualLinesWithANumberOfOneRank) {
  for (const int first : {0, 1, 3}) {  // the key of one rank differs
    Folding folding(4, Fold::own);
    for (int i = 0; i < 4; ++i) folding.feed((first + i) % 4, "rank 0 ready");
    EXPECT_THAT(folding.shown(), ElementsAre("[0,1,2,3] rank 0 ready"));
  }
}

TEST(Fold, OwnJoinsByTheTextOrByTheKeyButNotByBoth) {
  Folding folding(4, Fold::own);
  folding.feed(0, "rank 0 ready");
  folding.feed(1, "rank 1 ready");  // the same key
  folding.feed(2, "rank 0 ready");  // the same text
  folding.feed(3, "rank 3 ready");
  EXPECT_THAT(folding.flushed(), ElementsAre("[0,1,3] rank {0…3} ready", "[2] rank 0 ready"));
}

TEST(Fold, TheOrderOfTheRanksDoesNotMatter) {
  const std::vector<std::vector<std::string>> jobs = {
      {"rank 0 ready", "rank 1 ready", "rank 0 ready", "rank 3 ready", "rank 0 ready"},
      {"12:00:00 go 0", "12:00:01 go 1", "12:00:02 go 0", "12:00:03 go 0", "12:00:04 go 1"},
      {"rank 0 is 5", "rank 1 is 5", "rank 2 is 7", "rank 2 is 7", "rank 0 is 7"}};
  for (const std::vector<std::string>& lines : jobs) {
    for (const Fold level : {Fold::own, Fold::numbers}) {
      std::vector<int> order = {0, 1, 2, 3, 4};
      std::vector<std::string> first;
      do {
        Folding job(5, level);
        for (const int rank : order) job.feed(rank, lines[static_cast<std::size_t>(rank)]);
        std::vector<std::string> shown = job.flushed();
        std::ranges::sort(shown);
        if (first.empty()) first = shown;
        ASSERT_EQ(shown, first);
      } while (std::ranges::next_permutation(order).found);
    }
  }
}

TEST(Fold, OwnKeepsOtherNumbers) {
  for (const std::string before : {"step ", "Frank ", "0", "a", "rank 1", "pid 40", "size 12:00:0", "status 0x"}) {
    const auto make = [&](int rank) { return before + std::to_string(rank) + (before == "0" ? "x" : " end"); };
    EXPECT_THAT(folded(Fold::own, make), SizeIs(3)) << before;
  }
  for (const std::string before : {"gpu ", "rank "}) {
    const auto make = [&](int rank) { return before + std::to_string(rank) + ".93 util"; };
    EXPECT_THAT(folded(Fold::own, make), SizeIs(3)) << before;
  }
  // Rank 1 writes the number of rank 2.
  EXPECT_THAT(folded(Fold::own, [](int rank) { return "rank " + std::to_string(rank == 1 ? 2 : rank); }),
              ElementsAre("[0,2] rank {0…2}", "[1] rank 2"));
}

TEST(Fold, OwnLeavesOutTheHostName) {
  Folding job(8, Fold::own);
  for (int rank = 0; rank < 8; ++rank) job.feed(rank, "on node" + std::to_string(rank / 4) + ": ready");
  EXPECT_THAT(job.shown(), ElementsAre("[0,1,2,3,4,5,6,7] on node0: ready"));
  for (int rank = 0; rank < 8; ++rank) job.feed(rank, "on node" + std::to_string(1 - rank / 4) + ": ready");
  EXPECT_THAT(job.flushed(), ElementsAre("[0,1,2,3] on node1: ready", "[4,5,6,7] on node0: ready"));
  for (int rank = 0; rank < 8; ++rank) job.feed(rank, "on node" + std::to_string(rank / 4) + "-ib0");
  EXPECT_THAT(job.flushed(), SizeIs(2));
}

TEST(Fold, LeavesOutOnlyTheFirstTime) {
  const auto make = [](int rank) { return "12:00:00 until 12:00:0" + std::to_string(rank); };
  EXPECT_THAT(folded(Fold::own, make), SizeIs(3));
}

TEST(Fold, NumbersShowsTheRange) {
  const auto make = [](int rank) { return "step 10 loss 0." + std::to_string(98 + 3 * rank) + " lr 1e-05"; };
  EXPECT_THAT(folded(Fold::numbers, make), ElementsAre("[0,1,2] step 10 loss {0.101…0.98} lr 1e-05"));
}

TEST(Fold, NumbersComparesLongIntegersExactly) {
  const auto make = [](int rank) { return "key " + std::to_string(9007199254740992 + rank) + " done"; };
  EXPECT_THAT(folded(Fold::numbers, make), ElementsAre("[0,1,2] key {9007199254740992…9007199254740994} done"));
  const auto padded = [](int rank) { return "file " + std::string(rank == 0 ? "10" : "009"); };
  EXPECT_THAT(folded(Fold::numbers, padded), ElementsAre("[0,1,2] file {009…10}"));
}

TEST(Fold, NumbersKeepsErrorsAndLinesOfNumbers) {
  EXPECT_THAT(folded(Fold::numbers, [](int rank) { return std::to_string(rank); }), SizeIs(3));
  EXPECT_THAT(folded(Fold::numbers, [](int rank) { return "Error " + std::to_string(rank); }), SizeIs(3));
}

// ---- blocks ----

std::vector<std::string> traceback(const std::string& error, const std::string& prefix = "") {
  return {prefix + "Traceback (most recent call last):", prefix + "  File \"train.py\", line 88, in step",
          prefix + "    loss.backward()", prefix + error};
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

TEST(Fold, ATracebackIsOneUnit) {
  Folding job(3);
  for (int rank = 0; rank < 3; ++rank) job.feed_lines(rank, traceback(rank == 1 ? "ValueError: odd" : "OSError: gone"));
  EXPECT_THAT(job.shown(), IsEmpty());
  EXPECT_THAT(job.flushed(), ElementsAre("[0,2] " + joined(traceback("OSError: gone")),
                                         "[1] " + joined(traceback("ValueError: odd"))));
}

TEST(Fold, ATracebackEndsWithItsStream) {
  Folding job(2);
  job.feed_lines(0, traceback("torch.OutOfMemoryError: no memory"));
  job.feed_lines(1, traceback("torch.OutOfMemoryError: no memory"));
  job.end(0);
  job.end(1);
  EXPECT_THAT(job.shown(), ElementsAre("[0,1] " + joined(traceback("torch.OutOfMemoryError: no memory"))));
}

TEST(Fold, ATracebackIsNotHeldLonger) {
  Folding job(2);
  job.feed(1, "before");
  job.wait(10ms);
  job.feed_lines(0, traceback("KeyError: 1"));
  job.wait(199ms);
  EXPECT_THAT(job.shown(), IsEmpty());
  job.wait(41ms);
  EXPECT_THAT(job.shown(), ElementsAre("[1] before"));
  job.wait(10ms);
  EXPECT_THAT(job.shown(), ElementsAre("[0] " + joined(traceback("KeyError: 1"))));
}

TEST(Fold, ATracebackEndsAtALineThatDoesNotFit) {
  Folding job(2);
  job.feed_lines(0, traceback("KeyError: 1"));
  job.feed(0, "cleaning up");
  EXPECT_THAT(job.flushed(), ElementsAre("[0] " + joined(traceback("KeyError: 1")), "[0] cleaning up"));
  job.feed(0, "Traceback (most recent call last):");
  for (std::size_t i = 0; i < kMostBlockLines; ++i) job.feed(0, "  File");
  EXPECT_THAT(job.flushed(), SizeIs(2));
}

TEST(Fold, ChainedTracebacksAreOneUnit) {
  std::vector<std::string> lines = traceback("KeyError: 1");
  for (const std::string line : {"", "During handling of the above exception, another exception occurred:", ""}) {
    lines.push_back(line);
  }
  for (const std::string& line : traceback("ValueError: 2")) lines.push_back(line);
  Folding job(1);
  job.folder.add(0, 1, own(1));
  job.feed_lines(0, lines);
  EXPECT_THAT(job.flushed(), ElementsAre("[0] " + joined(lines)));
  job.feed_lines(0, traceback("KeyError: 1"));
  job.feed_lines(0, traceback("KeyError: 2"));
  EXPECT_THAT(job.flushed(), SizeIs(2));
}

TEST(Fold, TracebacksMayHaveThePrefixOfTheRank) {
  Folding job(512, Fold::own);
  for (int rank = 0; rank < 512; ++rank) {
    job.feed_lines(rank, traceback("RuntimeError: NCCL aborted on rank " + std::to_string(rank),
                                   "[rank" + std::to_string(rank) + "]: "));
    job.end(rank);
  }
  EXPECT_THAT(job.shown(), SizeIs(1));
}

// ---- properties ----

/// Feeds random lines of random ranks at random times. The shown lines of each rank equal its lines.
void check_random_job(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const int ranks = 1 + pick(70);
  Folding job(ranks, pick(2) == 0 ? Fold::exact : Fold::own, 2);
  std::vector<std::vector<std::string>> wrote(static_cast<std::size_t>(ranks));
  std::vector<std::vector<std::string>> shown(wrote.size());
  job.on_show = [&](const std::vector<int>& by, const std::string& text) {
    for (const int rank : by) shown[static_cast<std::size_t>(rank)].push_back(text);
  };
  const std::vector<std::string> lines = {
      "a", "b", "", "c\r", "Traceback (most recent call last):", "  File", "OSError: x"};
  const int variety = 1 + pick(static_cast<int>(lines.size()));
  for (int i = 0; i < 300; ++i) {
    const int rank = pick(ranks);
    const std::string& line = lines[static_cast<std::size_t>(pick(variety))];
    job.feed(rank, line, pick(4) == 0 ? kErr : kOut);
    wrote[static_cast<std::size_t>(rank)].push_back(line);
    if (pick(10) == 0) job.wait(std::chrono::milliseconds(pick(300)));
    const auto deadline = job.folder.deadline();
    ASSERT_TRUE(!deadline || *deadline > job.now) << "seed " << seed;
    if (pick(50) == 0) job.folder.flush();
  }
  job.folder.flush();
  ASSERT_FALSE(job.folder.holds());
  for (std::size_t rank = 0; rank < wrote.size(); ++rank) ASSERT_EQ(joined(shown[rank]), joined(wrote[rank])) << seed;
}

TEST(Fold, LosesNothingAndKeepsOrderInRandomJobs) {
  for (unsigned seed = 0; seed < 3000; ++seed) check_random_job(seed);
}

}  // namespace
}  // namespace dlaunch::output
