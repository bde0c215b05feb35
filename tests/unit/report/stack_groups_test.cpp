#include "report/stack_groups.h"

#include <gmock/gmock.h>

namespace dlaunch::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kInLock =
    "PyThread_acquire_lock_timed < lock_PyThread_acquire_lock\nload (data.py:6)\nnext_batch (data.py:8)\ntrain "
    "(train.py:12)";
constexpr const char* kInReduce =
    "pthread_cond_wait < c10d::Work::wait\nall_reduce (distributed_c10d.py:1534)\ntrain (train.py:12)";

RankStack at(int rank, const std::string& frames, double cpu = 0) {
  return {.rank = rank,
          .host = rank < 3 ? "node1" : "node2",
          .frames = frames,
          .state = 'S',
          .wait = "futex_do_wait",
          .cpu = cpu};
}

StackReport picture(std::vector<RankStack> ranks) {
  return {.title = "stacks of " + std::to_string(ranks.size()) + " ranks:", .ranks = std::move(ranks)};
}

TEST(StackGroups, SmallestGroupIsFirstAndTheOddRankIsNamed) {
  StackReport seen = picture({});
  for (int rank = 0; rank < 8; ++rank)
    seen.ranks.push_back(at(rank, rank == 3 ? kInLock : kInReduce, rank == 5 ? 0.2 : 0));
  seen.title = "no rank wrote for 600 s and none makes progress; stacks of 8 ranks (main thread):";
  seen.last = "all threads: out/stacks.1";
  EXPECT_EQ(stacks_text(seen),
            "dlaunch: no rank wrote for 600 s and none makes progress; stacks of 8 ranks (main thread):\n"
            "  1 rank: 3 (node2)                     blocked, 0.0 % CPU, futex_do_wait\n"
            "      PyThread_acquire_lock_timed < lock_PyThread_acquire_lock\n"
            "      load (data.py:6)\n"
            "      next_batch (data.py:8)\n"
            "      train (train.py:12)\n"
            "  7 ranks: 0-2,4-7 (node[1-2])          blocked, 0.0-0.2 % CPU, futex_do_wait\n"
            "      pthread_cond_wait < c10d::Work::wait\n"
            "      all_reduce (distributed_c10d.py:1534)\n"
            "      train (train.py:12)\n"
            "  rank 3 differs from all other ranks: the other ranks wait in all_reduce, this rank does not\n"
            "  all threads: out/stacks.1\n");
}

TEST(StackGroups, NamesTheFunctionOutsideCollectives) {
  const auto text = stacks_text(picture({at(0, "recv (a.py:1)"), at(1, "recv (a.py:1)"), at(2, kInLock)}));
  EXPECT_THAT(text, HasSubstr("  rank 2 differs from all other ranks: only this rank is in load (data.py:6)\n"));
}

TEST(StackGroups, NamesTheWaitingCall) {
  std::vector<RankStack> ranks = {at(0, "MPI_Recv (libmpi.so.40)\nsolve (solver)"),
                                  at(1, "MPI_Recv (libmpi.so.40)\nsolve (solver)"),
                                  at(2, "pause (libc.so.6)\nidle (solver)")};
  ranks[0].in_call = ranks[1].in_call = true;
  ranks[0].state = ranks[1].state = 'R';
  const auto text = stacks_text(picture(ranks));
  EXPECT_THAT(text, HasSubstr(" polling"));
  EXPECT_THAT(
      text, HasSubstr("  rank 2 differs from all other ranks: the other ranks wait in MPI_Recv, this rank does not\n"));
  ranks[2].frames = "MPI_Barrier (libmpi.so.40)\nidle (solver)";
  ranks[2].in_call = true;
  EXPECT_THAT(
      stacks_text(picture(ranks)),
      HasSubstr("  rank 2 differs from all other ranks: this rank waits in MPI_Barrier, the others in MPI_Recv\n"));
  ranks[2].frames = "pause (libc.so.6)\nidle (solver)";
  ranks[0].in_call = ranks[1].in_call = ranks[2].in_call = false;
  EXPECT_THAT(stacks_text(picture(ranks)), HasSubstr("only this rank is in idle (solver)\n"));
}

TEST(StackGroups, NamesNoOddRankIfSeveralDiffer) {
  const std::string a = "f (a.py:1)";
  const std::string b = "g (b.py:1)";
  const std::string c = "h (c.py:1)";
  for (const auto& ranks :
       {std::vector{at(0, a), at(1, b)}, std::vector{at(0, a), at(1, a)}, std::vector{at(0, a), at(1, b), at(2, c)},
        std::vector{at(0, a), at(1, a), at(2, b), at(3, b)}, std::vector{at(0, a), at(1, a), at(2, "")}}) {
    EXPECT_THAT(stacks_text(picture(ranks)), Not(HasSubstr("differs from all")));
  }
}

TEST(StackGroups, ShowStatesOfAGroup) {
  RankStack running = at(0, "f (a.py:1)", 99.96);
  running.state = 'R';
  running.wait.clear();
  RankStack stopped = at(1, "f (a.py:1)");
  stopped.stopped = true;
  RankStack traced = at(2, "f (a.py:1)");
  traced.traced = true;
  traced.cpu.reset();
  traced.wait.clear();
  RankStack storage = at(3, "f (a.py:1)");
  storage.state = 'D';
  storage.wait = "nfs_wait";
  EXPECT_THAT(stacks_text(picture({running, stopped})),
              HasSubstr("running or stopped, 0.0-100.0 % CPU, futex_do_wait\n"));
  EXPECT_THAT(stacks_text(picture({traced})), HasSubstr("in a debugger\n"));
  EXPECT_THAT(stacks_text(picture({storage})), HasSubstr("waiting for storage, 0.0 % CPU, nfs_wait\n"));
}

TEST(StackGroups, ShowTheProgressOfAGroup) {
  StackReport seen = picture({at(0, kInLock), at(1, kInLock), at(2, kInLock)});
  seen.ranks[0].progress = 7;
  seen.ranks[2].progress = 480;
  EXPECT_THAT(stacks_text(seen), HasSubstr("futex_do_wait, progress 7-480\n"));
  seen.ranks[0].progress = 480;
  EXPECT_THAT(stacks_text(seen), HasSubstr("futex_do_wait, progress 480\n"));
}

TEST(StackGroups, ShowSilentHostsRemarksAndRanksWithoutAStack) {
  StackReport seen = picture({at(0, "")});
  seen.silent_hosts = {"node7", "node8"};
  seen.silent_ranks = {4, 5, 6};
  seen.remarks = {"rank 0: no stack: not permitted"};
  EXPECT_THAT(stacks_text(seen), HasSubstr("      (no stack)\n  no answer from node[7-8] (ranks 4-6)\n"
                                           "  rank 0: no stack: not permitted\n"));
}

TEST(StackGroups, LimitsAndEscapesTexts) {
  std::string deep = "\x1b[2J\x1b]0;title\a";
  for (int i = 0; i < 300; ++i) deep += "\nf" + std::to_string(i) + " (" + std::string(1000, 'x') + ".py:1)";
  std::vector<RankStack> ranks = {at(0, deep)};
  for (int rank = 1; rank < 1000; ++rank) ranks.push_back(at(rank, "g" + std::to_string(rank)));
  StackReport seen = picture(ranks);
  for (int i = 0; i < 1000; ++i) seen.remarks.insert(std::to_string(i) + "\n\rremark");
  const std::string text = stacks_text(seen);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("      … 277 more frames …\n"));
  EXPECT_THAT(text, HasSubstr("  984 more groups: ranks 16-999\n"));
  EXPECT_LT(text.size(), 20000u);
}

}  // namespace
}  // namespace dlaunch::report
