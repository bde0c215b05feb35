#include "report/summary.h"
#include "report/duration.h"

#include "report/lost_hosts.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>

namespace dlaunch::report {
namespace {

using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

/// A job of `ranks` on node1, rank i with device i and pid 4240+i, all ended with 0 after 12.4 s.
struct Fixture {
  explicit Fixture(int ranks) {
    plan.apps.push_back(
        {.argv = {"./train", "--fast"}, .env = {"PATH=/bin", "SECRET=hush"}, .wdir = "/work dir", .ranks = ranks});
    plan.hosts.emplace_back().host.name = "node1";
    for (int i = 0; i < ranks; ++i) {
      add_rank(i);
    }
  }
  void add_rank(int i) {
    plan::Rank planned;
    planned.rank = planned.local_rank = i;
    planned.device = i;
    plan.ranks.push_back(planned);
    outcome.ranks.emplace_back();
    by_itself(i, Exited{0});
  }
  void by_itself(int i, ExitStatus::Value status) {
    rank(i) = {4240 + i, ExitStatus(std::move(status)), kStart, kStart + 12'400'000'000, false, false, ""};
  }
  job::RankRecord& rank(int i) { return outcome.ranks.at(static_cast<size_t>(i)); }

  /// All others were ended with TERM because of `first`.
  void fail_first(int first, ExitStatus::Value status) {
    outcome.cause = job::Cause::rank_failed;
    outcome.first_failure = first;
    end_all(SIGTERM);
    by_itself(first, std::move(status));
  }
  void end_all(int signal) {
    for (job::RankRecord& record : outcome.ranks) {
      record.status = ExitStatus(Signaled{signal});
      record.ended_by_us = true;
    }
  }
  void never_started(int i, ExitStatus::Value status) {
    rank(i) = {0, ExitStatus(std::move(status)), 0, 0, false, false, ""};
  }

  std::string summary(std::vector<std::string> words = {}, std::string log = "") const {
    return failure_summary({plan, outcome, std::move(words), std::move(log), milliseconds(20000)});
  }

  plan::Plan plan;
  job::Outcome outcome;
};

TEST(FailureSummary, SuccessSaysNothing) { EXPECT_EQ(Fixture(8).summary(), ""); }

TEST(FailureSummary, SuccessSaysWhatWasLeft) {
  Fixture job(2);
  job.outcome.leftovers = {"node1: pid 12 (python3)"};
  EXPECT_EQ(job.summary(), "dlaunch: could not confirm the end of: node1: pid 12 (python3)\n");
}

TEST(FailureSummary, RootCauseIsLastAndConsequencesAreCounted) {
  Fixture job(8);
  job.fail_first(3, Exited{3});
  job.rank(0).needed_kill = job.rank(7).needed_kill = true;
  EXPECT_EQ(job.summary({"Traceback (most recent call last):", "ValueError: x\r\n"}),
            "dlaunch: 7 other ranks were ended because of it (2 needed KILL)\n"
            "dlaunch: last stderr lines of rank 3:\n"
            "dlaunch:   | Traceback (most recent call last):\n"
            "dlaunch:   | ValueError: x\n"
            "dlaunch: rank 3 (host node1, pid 4243, device 3) exited with code 3 after 12.4 s\n");
}

TEST(FailureSummary, OneRankAloneHasNoConsequences) {
  Fixture job(1);
  job.plan.ranks[0].device.reset();
  job.fail_first(0, Exited{1});
  EXPECT_EQ(job.summary(), "dlaunch: rank 0 (host node1, pid 4240) exited with code 1 after 12.4 s\n");
}

TEST(FailureSummary, SpawnedRanksAreNamedWithTheirWorld) {
  Fixture job(5);
  job.plan.worlds.begin(2);
  job.fail_first(3, Exited{7});
  job.by_itself(1, Exited{8});
  job.by_itself(4, Exited{8});
  const std::string text = job.summary({"why"});
  EXPECT_THAT(text, HasSubstr("last stderr lines of rank 2/1:\n"));
  EXPECT_THAT(text, HasSubstr("rank 2/1 (host node1, pid 4243, device 3) exited with code 7"));
  EXPECT_THAT(text, HasSubstr("failed by themselves (exited with code 8): ranks 1,2/2\n"));
}

TEST(FailureSummary, SaysWhereTheLogIs) {
  Fixture job(1);
  job.fail_first(0, Exited{1});
  EXPECT_THAT(job.summary({}, "/l/1/rank.0/stderr"), HasSubstr("dlaunch: stderr of rank 0 is in /l/1/rank.0/stderr\n"));
  EXPECT_THAT(job.summary({"x"}, "/l/1/rank.0/stderr"),
              HasSubstr("dlaunch: last stderr lines of rank 0 (all in /l/1/rank.0/stderr):\n"));
}

TEST(FailureSummary, RanksThatFailedByThemselvesAreToldApart) {
  Fixture job(10);
  job.fail_first(2, Exited{1});
  for (const int i : {4, 5, 6}) job.by_itself(i, Exited{1});
  job.by_itself(8, Signaled{SIGSEGV});
  const std::string text = job.summary();
  EXPECT_THAT(text, HasSubstr("dlaunch: 3 other ranks failed by themselves (exited with code 1): ranks 4-6\n"));
  EXPECT_THAT(text, HasSubstr("dlaunch: 1 other rank failed by itself (killed by signal 11 (SIGSEGV)): rank 8\n"));
  EXPECT_THAT(text, HasSubstr("dlaunch: 5 other ranks were ended because of it\n"));
  EXPECT_THAT(text, EndsWith("exited with code 1 after 12.4 s\n"));
}

TEST(FailureSummary, ManyWaysToFailAreOneLine) {
  Fixture job(64);
  job.fail_first(0, Exited{1});
  for (int i = 10; i < 30; ++i) job.by_itself(i, Exited{i});
  EXPECT_THAT(job.summary(), HasSubstr("20 other ranks failed by themselves in 20 different ways: ranks 10-29\n"));
}

TEST(FailureSummary, RanksNeverStartedAreCounted) {
  Fixture job(4);
  job.fail_first(0, Exited{9});
  job.outcome.ranks[2] = job.outcome.ranks[3] = {};
  job.rank(1).status.reset();
  const std::string text = job.summary();
  EXPECT_THAT(text, HasSubstr("dlaunch: 2 ranks were never started\n"));
  EXPECT_THAT(text, HasSubstr("dlaunch: nothing is known of the end of rank 1\n"));
}

TEST(FailureSummary, OutOfMemoryEvidence) {
  Fixture job(2);
  job.fail_first(1, Signaled{SIGKILL, false, true});
  EXPECT_THAT(job.summary(),
              EndsWith("dlaunch: rank 1 (host node1, pid 4241, device 1) killed by signal 9 (SIGKILL), out of memory "
                       "(its cgroup counted an oom_kill) after 12.4 s\n"
                       "dlaunch:   give it more memory, or start fewer ranks on its host\n"));
}

TEST(FailureSummary, KillOfUnknownOriginIsNotDlaunchs) {
  Fixture job(2);
  job.fail_first(1, Signaled{SIGKILL});
  EXPECT_THAT(job.summary(), HasSubstr("dlaunch did not send it"));
}

TEST(FailureSummary, ProgramNotFoundSaysWhereItWasSought) {
  Fixture job(2);
  job.fail_first(0, Exited{0});
  job.never_started(0, NotStarted{ENOENT, "cannot execute ./train"});
  EXPECT_THAT(job.summary(),
              EndsWith("dlaunch: rank 0 (host node1, device 0) did not start: cannot execute ./train: "
                       "No such file or directory\n"
                       "dlaunch:   the path is taken from the working directory '/work dir'; -wdir sets another\n"));
  job.plan.apps[0].argv[0] = "train";
  EXPECT_THAT(job.summary(),
              EndsWith("it is in no directory of PATH; a program in the working directory is ./train\n"));
  job.plan.apps[0].env = {"PATHS=/x"};
  EXPECT_THAT(job.summary(), HasSubstr("the ranks have no PATH"));
}

TEST(NotStartedHint, EveryUsualReasonHasOne) {
  for (const int error : {EACCES, ENOEXEC, E2BIG, EMFILE, EAGAIN, ENOMEM}) {
    EXPECT_NE(not_started_hint({error, "cannot execute x"}, "x", "/", true), "") << error;
  }
  EXPECT_THAT(not_started_hint({ENOENT, "the interpreter /y of /x is not there"}, "/x", "/", true), HasSubstr("#!"));
  EXPECT_THAT(not_started_hint({ENOENT, "cannot execute /x"}, "/x", "/", true), HasSubstr("host"));
  EXPECT_THAT(not_started_hint({ENOENT, "working directory /x"}, "a", "/x", true), HasSubstr("-wdir"));
  EXPECT_EQ(not_started_hint({EIO, "cannot execute x"}, "x", "/", true), "");
  EXPECT_EQ(not_started_hint({EACCES, "cannot execute ./train.py (from /)"}, "./train.py", "/", true),
            "run python3 ./train.py, or chmod +x");
  EXPECT_EQ(not_started_hint({ENOENT, "cannot find train.py in PATH"}, "train.py", "/", true), "run python3 train.py");
  EXPECT_EQ(not_started_hint({ENOENT, "cannot find echo a | tr a b in PATH"}, "echo a | tr a b", "/", true),
            "run the command in a shell: sh -c 'echo a | tr a b'");
  EXPECT_THAT(not_started_hint({EACCES, "cannot enter /root"}, "/root/x", "/", true), HasSubstr("permissions"));
}

TEST(FailureSummary, Interrupted) {
  Fixture job(8);
  job.end_all(SIGINT);
  job.rank(5).needed_kill = true;
  job.outcome.cause = job::Cause::interrupted;
  job.outcome.signal = SIGINT;
  EXPECT_EQ(job.summary(), "dlaunch: interrupted by SIGINT after 20.0 s: 8 ranks ended, 1 needed KILL\n");
}

TEST(FailureSummary, TimeoutNamesWhoWasStillRunning) {
  Fixture job(8);
  job.end_all(SIGTERM);
  for (const int i : {0, 1, 2, 6}) job.by_itself(i, Exited{0});
  job.outcome.cause = job::Cause::timeout;
  EXPECT_EQ(job.summary(), "dlaunch: time out after 20.0 s: ranks 3-5,7 were still running\n");
}

TEST(FailureSummary, LostHost) {
  Fixture job(4);
  job.end_all(SIGTERM);
  job.by_itself(2, Lost{"no heartbeat"});
  job.outcome.cause = job::Cause::host_lost;
  job.outcome.lost_hosts = {{"node1", "no heartbeat for 15 s\n", ""}};
  EXPECT_EQ(job.summary(),
            "dlaunch: 1 rank was lost: rank 2\n"
            "dlaunch: 3 ranks were ended because of it\n"
            "dlaunch: a host was lost after 20.0 s: node1: no heartbeat for 15 s\n");
}

TEST(FailureSummary, HostThatCouldNotBeUsed) {
  Fixture job(4);
  job.outcome.ranks = std::vector<job::RankRecord>(4);
  job.outcome.cause = job::Cause::host_lost;
  job.outcome.lost_hosts = {{"node1", "connection refused", "start sshd there"}};
  EXPECT_EQ(job.summary(),
            "dlaunch: 4 ranks were never started\n"
            "dlaunch: a host could not be used after 20.0 s: node1: connection refused\n"
            "dlaunch:   start sshd there\n");
}

TEST(FailureSummary, HostsThatCouldNotBeUsedAreFoldedByReason) {
  Fixture job(4);
  job.outcome.ranks = std::vector<job::RankRecord>(4);
  job.outcome.cause = job::Cause::host_lost;
  job.outcome.lost_hosts = {{"node1", "refused", "start sshd there"},
                            {"login", "no answer yet", ""},
                            {"node2", "refused", "start sshd there"},
                            {"node3", "refused", "start sshd there"}};
  EXPECT_EQ(job.summary(),
            "dlaunch: 4 ranks were never started\n"
            "dlaunch: 4 hosts could not be used after 20.0 s:\n"
            "dlaunch: login: no answer yet\n"
            "dlaunch: node[1-3]: refused\n"
            "dlaunch:   start sshd there\n");
}

TEST(FailureSummary, HostsThatWereSweptAreToldAndThoseThatWereNotStandLastWithTheCommand) {
  Fixture job(2);
  job.plan.job_id = "00ff";
  for (const char* name : {"node2", "node3", "node4"}) job.plan.hosts.emplace_back().host.name = name;
  job.outcome.cause = job::Cause::host_lost;
  job.outcome.lost_hosts = {{"node4", "its agent fell silent", ""}};
  job.outcome.swept = {1, 2};
  job.outcome.unswept = {{3, "no route"}};
  const std::string text = failure_summary({.plan = job.plan,
                                            .outcome = job.outcome,
                                            .last_words = {},
                                            .log_path = {},
                                            .elapsed = milliseconds(20000),
                                            .shell_there = [](const plan::Host& host) { return "to " + host.name; }});
  EXPECT_EQ(text,
            "dlaunch: nothing of the job is left on node[2-3]: they were reached again\n"
            "dlaunch: a host was lost after 20.0 s: node4: its agent fell silent\n"
            "dlaunch: processes of the job may still run on node4; this ends them:\n"
            "dlaunch:   " +
                end_job_command("00ff", "to node4") + "\n");
}

TEST(FailureSummary, OutputFailed) {
  Fixture job(4);
  job.end_all(SIGTERM);
  job.outcome.cause = job::Cause::output_failed;
  job.outcome.detail = "cannot write /full/rank.0: No space left on device\nfree space there";
  EXPECT_THAT(job.summary(),
              EndsWith("dlaunch: output failed after 20.0 s: cannot write /full/rank.0: No space left on device\n"
                       "dlaunch:   free space there\n"));
}

TEST(FailureSummary, AReaderThatHasSeenEnoughIsNoNews) {
  Fixture job(4);
  job.end_all(SIGTERM);
  job.outcome.cause = job::Cause::output_failed;
  EXPECT_EQ(job.summary(), "");
}

TEST(FailureSummary, LastWordsCannotDriveTheTerminal) {
  Fixture job(1);
  job.fail_first(0, Exited{1});
  const std::string text = job.summary({"\x1b]0;owned\x07 \x1b[31mred\x1b[0m", std::string(1000, 'x')});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("  | \\x1b]0;owned\\x07 red\n"));
  EXPECT_THAT(text, HasSubstr("x … 600 more bytes\n"));
}

TEST(FailureSummary, NamesNoValueOfTheEnvironment) {
  Fixture job(2);
  job.fail_first(0, NotStarted{ENOENT, "cannot execute ./train"});
  EXPECT_THAT(job.summary(), Not(HasSubstr("hush")));
}

TEST(DurationText, FewDigits) {
  EXPECT_EQ(duration_text(milliseconds(34)), "0.03 s");
  EXPECT_EQ(duration_text(milliseconds(12'420)), "12.4 s");
  EXPECT_EQ(duration_text(milliseconds(59'990)), "1 min 0 s");
  EXPECT_EQ(duration_text(std::chrono::seconds(185)), "3 min 5 s");
  EXPECT_EQ(duration_text(std::chrono::minutes(127)), "2 h 7 min");
}

}  // namespace
}  // namespace dlaunch::report
