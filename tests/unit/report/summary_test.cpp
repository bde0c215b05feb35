#include "report/summary.h"
#include "report/lines.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>

namespace dlaunch::report {
namespace {

using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

  /// All other ranks ended with TERM because of `first`.
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

  std::string summary(std::vector<std::string> last = {}, std::string log = "", std::string stream = "stderr") const {
    return failure_summary(
        {plan, outcome, std::move(last), std::move(log), milliseconds(20000), {}, {}, std::move(stream)});
  }

  plan::Plan plan;
  job::Outcome outcome;
};

TEST(FailureSummary, IsEmptyAfterSuccess) { EXPECT_EQ(Fixture(8).summary(), ""); }

TEST(FailureSummary, NamesLeftoversAfterSuccess) {
  Fixture job(2);
  job.outcome.leftovers = {"node1: pid 12 (python3)"};
  EXPECT_EQ(job.summary(), "dlaunch: processes may be left: node1: pid 12 (python3)\n");
}

TEST(FailureSummary, NamesADirectoryOfSeveralHostsOnce) {
  Fixture job(8);
  job.outcome.leftovers = {"node2: cannot remove /tmp/d: Busy", "node1: pid 12 (python3)",
                           "node1: cannot remove /tmp/d: Busy", "node1: cannot remove /tmp/d: Busy",
                           "node2: pid 12 (python3)",           "node1: cannot remove /tmp/e: Busy"};
  EXPECT_EQ(job.summary(),
            "dlaunch: files may be left: node[1-2]: cannot remove /tmp/d: Busy\n"
            "dlaunch: processes may be left: node1: pid 12 (python3)\n"
            "dlaunch: processes may be left: node2: pid 12 (python3)\n"
            "dlaunch: files may be left: node1: cannot remove /tmp/e: Busy\n");
}

TEST(FailureSummary, StartsWithTheCauseAndCountsConsequences) {
  Fixture job(8);
  job.fail_first(3, Exited{3});
  job.rank(0).needed_kill = job.rank(7).needed_kill = true;
  EXPECT_EQ(job.summary({"Traceback (most recent call last):", "ValueError: x\r\n"}),
            "dlaunch: rank 3 (host node1, pid 4243, device 3) exited with code 3 after 12.4 s\n"
            "dlaunch: last stderr lines of rank 3:\n"
            "dlaunch:   | Traceback (most recent call last):\n"
            "dlaunch:   | ValueError: x\n"
            "dlaunch: stopped the 7 other ranks (2 needed KILL)\n");
}

TEST(FailureSummary, SingleRankHasNoConsequences) {
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
  EXPECT_THAT(text, HasSubstr("other ranks failed (exited with code 8): ranks 1,2/2\n"));
}

TEST(FailureSummary, NamesTheLogFile) {
  Fixture job(1);
  job.fail_first(0, Exited{1});
  EXPECT_THAT(job.summary({}, "/l/1/rank.0/stderr"), HasSubstr("dlaunch: stderr of rank 0: /l/1/rank.0/stderr\n"));
  EXPECT_THAT(job.summary({"x"}, "/l/1/rank.0/stderr"),
              HasSubstr("dlaunch: last stderr lines of rank 0 (all in /l/1/rank.0/stderr):\n"));
  EXPECT_THAT(job.summary({"x"}, "/l/1/rank.0/stdout", "stdout"),
              HasSubstr("dlaunch: last stdout lines of rank 0 (all in /l/1/rank.0/stdout):\ndlaunch:   | x\n"));
}

TEST(FailureSummary, ListsOtherFailedRanksByReason) {
  Fixture job(10);
  job.fail_first(2, Exited{1});
  for (const int i : {4, 5, 6}) job.by_itself(i, Exited{1});
  job.by_itself(8, Signaled{SIGSEGV});
  const std::string text = job.summary();
  EXPECT_THAT(text, HasSubstr("dlaunch: 3 other ranks failed (exited with code 1): ranks 4-6\n"));
  EXPECT_THAT(text, HasSubstr("dlaunch: 1 other rank failed (killed by signal 11 (SIGSEGV)): rank 8\n"));
  EXPECT_THAT(text, HasSubstr("dlaunch: stopped 5 other ranks\n"));
  EXPECT_THAT(text, StartsWith("dlaunch: rank 2 (host node1, pid 4242, device 2) exited with code 1 after 12.4 s\n"));
}

TEST(FailureSummary, ManyReasonsShareOneLine) {
  Fixture job(64);
  job.fail_first(0, Exited{1});
  for (int i = 10; i < 30; ++i) job.by_itself(i, Exited{i});
  EXPECT_THAT(job.summary(), HasSubstr("20 other ranks failed in 20 different ways: ranks 10-29\n"));
}

TEST(FailureSummary, RanksNeverStartedAreCounted) {
  Fixture job(4);
  job.fail_first(0, Exited{9});
  job.outcome.ranks[2] = job.outcome.ranks[3] = {};
  job.rank(1).status.reset();
  const std::string text = job.summary();
  EXPECT_THAT(text, HasSubstr("dlaunch: 2 ranks were never started\n"));
  EXPECT_THAT(text, HasSubstr("dlaunch: unknown exit status: rank 1\n"));
}

TEST(FailureSummary, ReportsOutOfMemory) {
  Fixture job(2);
  job.fail_first(1, Signaled{SIGKILL, false, true});
  EXPECT_THAT(job.summary(),
              StartsWith("dlaunch: rank 1 (host node1, pid 4241, device 1) killed by signal 9 (SIGKILL), out of memory "
                         "(its cgroup counted an oom_kill) after 12.4 s\n"
                         "dlaunch:   give the rank more memory, or start fewer ranks on its host\n"));
}

TEST(FailureSummary, HintsAtTheSenderOfSigkill) {
  Fixture job(2);
  job.fail_first(1, Signaled{SIGKILL});
  EXPECT_THAT(job.summary(), HasSubstr("dlaunch did not send SIGKILL"));
}

TEST(FailureSummary, ProgramNotFoundIsOneLineAndAHint) {
  Fixture job(64);
  job.outcome.cause = job::Cause::rank_failed;
  job.outcome.first_failure = 5;
  for (int i = 0; i < 64; ++i) job.never_started(i, NotStarted{ENOENT, "cannot execute ./train (from /work dir)"});
  EXPECT_EQ(job.summary({}, "/l/1/rank.5/stderr"),
            "dlaunch: program \"./train\": not found on node1\n"
            "dlaunch:   check the path: a relative path starts in the working directory '/work dir'; "
            "set another with --wdir\n");
  job.outcome.ranks[7] = {};
  EXPECT_THAT(job.summary(), StartsWith("dlaunch: program \"./train\": not found on node1 (ranks 0-6,8-63)\n"));
  EXPECT_THAT(job.summary(), Not(HasSubstr("never started")));
  job.plan.apps[0].argv[0] = "train";
  EXPECT_THAT(job.summary(),
              EndsWith("check the name and PATH; write ./train for a program in the working directory\n"));
  for (const int i : {5, 6})
    job.never_started(
        i, NotStarted{ENOENT, "program \"train\": not found in PATH; the working directory contains it: ./train"});
  EXPECT_THAT(job.summary(), HasSubstr("run ./train: "));
  job.plan.apps[0].env = {"PATHS=/x"};
  EXPECT_THAT(job.summary(), HasSubstr("the ranks have no PATH"));
}

TEST(FailureSummary, ReportsAProgramMissingOnSomeHosts) {
  Fixture job(4);
  job.plan.hosts.emplace_back().host.name = "node2";
  for (const size_t i : {2U, 3U}) job.plan.ranks[i].host = 1;
  job.fail_first(2, Exited{0});
  for (const int i : {2, 3}) job.never_started(i, NotStarted{ENOENT, "program \"./train\": not found in PATH"});
  EXPECT_THAT(job.summary(), StartsWith("dlaunch: program \"./train\": not found on node2 (ranks 2-3)\n"));
  EXPECT_THAT(job.summary(), EndsWith("dlaunch: stopped the 2 other ranks\n"));
  job.never_started(1, NotStarted{ENOENT, "program \"./train\": not found in PATH"});
  EXPECT_THAT(job.summary(), EndsWith("dlaunch: stopped the other rank\n"));
}

TEST(FailureSummary, ReportsAProgramThatCannotRun) {
  Fixture job(2);
  job.plan.apps[0].argv[0] = "./train.py";
  job.outcome.cause = job::Cause::rank_failed;
  job.outcome.first_failure = 0;
  for (const int i : {0, 1}) job.never_started(i, NotStarted{EACCES, "cannot execute ./train.py (from /w)"});
  EXPECT_EQ(job.summary(),
            "dlaunch: cannot run program \"./train.py\" on node1: Permission denied\n"
            "dlaunch:   run python3 ./train.py, or make it executable: chmod +x ./train.py\n");
  job.plan.apps[0].argv[0] = "train";
  for (const int i : {0, 1}) job.never_started(i, NotStarted{EACCES, "cannot execute /bin/train"});
  EXPECT_THAT(job.summary(),
              StartsWith("dlaunch: cannot run program \"train\" on node1: /bin/train: Permission denied\n"));
  for (const int i : {0, 1}) job.never_started(i, NotStarted{ENOENT, "cannot enter the working directory /x"});
  EXPECT_THAT(job.summary(), StartsWith("dlaunch: ranks 0-1 (host node1) did not start: cannot enter the working "
                                        "directory /x: No such file or directory\n"));
  job.by_itself(1, Exited{0});
  EXPECT_THAT(job.summary(), StartsWith("dlaunch: rank 0 (host node1, device 0) did not start: cannot enter the"));
}

TEST(FailureSummary, CountsAgreeWithTheirNouns) {
  Fixture two(2);
  two.fail_first(0, Exited{1});
  EXPECT_THAT(two.summary(), EndsWith("dlaunch: stopped the other rank\n"));
  Fixture three(3);
  three.fail_first(0, Exited{1});
  three.by_itself(2, Exited{0});
  EXPECT_THAT(three.summary(), EndsWith("dlaunch: stopped 1 other rank\n"));
  three.rank(2) = {};
  EXPECT_THAT(three.summary(), EndsWith("dlaunch: 1 rank was never started\n"));
}

TEST(NotStartedHint, IgnoresTheSameWordsInNames) {
  EXPECT_THAT(not_started_hint({ENOENT, "program \"interpreter\": not found in PATH"}, "interpreter", "/", true),
              StartsWith("check the name and PATH; "));
  EXPECT_THAT(
      not_started_hint({ENOENT, "program \"working directory\": not found in PATH"}, "working directory", "/", true),
      StartsWith("run the command in a shell: "));
  for (const std::string wdir : {"/tmp/my interpreter", "/tmp/my working directory"}) {
    EXPECT_THAT(not_started_hint({ENOENT, "cannot execute ./x (from " + wdir + ")"}, "./x", wdir, true),
                StartsWith("check the path: a relative path starts in the working directory '" + wdir + "'"));
  }
  Fixture job(2);
  job.outcome.cause = job::Cause::rank_failed;
  job.outcome.first_failure = 0;
  for (const int i : {0, 1}) job.never_started(i, NotStarted{ENOENT, "cannot execute ./train (from /my interpreter)"});
  EXPECT_THAT(job.summary(), StartsWith("dlaunch: program \"./train\": not found on node1\n"));
}

TEST(NotStartedHint, NamesASubcommandOnlyOnRequest) {
  const NotStarted status{ENOENT, "program \"hosts\": not found in PATH"};
  const std::vector<std::string> subcommands{"hosts", "check"};
  EXPECT_EQ(not_started_hint(status, "hosts", "/", true, subcommands), "put the subcommand first: dlaunch hosts");
  EXPECT_THAT(not_started_hint(status, "hosts", "/", true, {}), StartsWith("check the name and PATH; "));
  Fixture job(1);
  job.plan.apps[0].argv[0] = "chek";
  job.fail_first(0, NotStarted{ENOENT, "program \"chek\": not found in PATH"});
  Summary summary{job.plan, job.outcome, {}, {}};
  EXPECT_THAT(failure_summary(summary), Not(HasSubstr("subcommand")));
  summary.subcommands = subcommands;
  EXPECT_THAT(failure_summary(summary), HasSubstr("use dlaunch check for the subcommand"));
}

TEST(NotStartedHint, CoversUsualReasons) {
  for (const int error : {EACCES, ENOEXEC, E2BIG, EMFILE, EAGAIN, ENOMEM}) {
    EXPECT_NE(not_started_hint({error, "cannot execute x"}, "x", "/", true), "") << error;
  }
  EXPECT_THAT(not_started_hint({ENOENT, "cannot execute /x: missing interpreter /y"}, "/x", "/", true),
              HasSubstr("#!"));
  EXPECT_THAT(not_started_hint({ENOENT, "cannot execute /x"}, "/x", "/", true), HasSubstr("host"));
  EXPECT_THAT(not_started_hint({ENOENT, "cannot enter the working directory /x"}, "a", "/x", true),
              HasSubstr("--wdir"));
  EXPECT_THAT(not_started_hint({ENOENT, "cannot write /d/env.log"}, "a", "/x", true),
              HasSubstr("the directory of the"));
  EXPECT_THAT(not_started_hint({EACCES, "cannot write /d/env.log"}, "a", "/x", true), HasSubstr("may write"));
  EXPECT_EQ(not_started_hint({EIO, "cannot execute x"}, "x", "/", true), "");
  EXPECT_EQ(not_started_hint({EACCES, "cannot execute ./train.py (from /)"}, "./train.py", "/", true),
            "run python3 ./train.py, or make it executable: chmod +x ./train.py");
  EXPECT_EQ(not_started_hint({ENOENT, "program \"train.py\": not found in PATH"}, "train.py", "/", true),
            "run python3 train.py");
  EXPECT_EQ(not_started_hint({ENOENT, "program \"echo a | tr a b\": not found in PATH"}, "echo a | tr a b", "/", true),
            "run the command in a shell: sh -c 'echo a | tr a b'");
  EXPECT_EQ(not_started_hint({ENOENT, "cannot execute /opt/my app(1)"}, "/opt/my app(1)", "/", true),
            "check the path on the rank's host");
  EXPECT_THAT(not_started_hint({ENOENT, "cannot execute cat a/b (from /)"}, "cat a/b", "/", true),
              HasSubstr("sh -c 'cat a/b'"));
  EXPECT_THAT(not_started_hint({EACCES, "cannot enter /root"}, "/root/x", "/", true), HasSubstr("permissions"));
}

TEST(FailureSummary, ReportsAnInterrupt) {
  Fixture job(8);
  job.end_all(SIGINT);
  job.rank(5).needed_kill = true;
  job.outcome.cause = job::Cause::interrupted;
  job.outcome.signal = SIGINT;
  EXPECT_EQ(job.summary(), "dlaunch: interrupted by SIGINT after 20.0 s: stopped 8 ranks (1 needed KILL)\n");
}

TEST(FailureSummary, InterruptStatesOnlyWhatIsKnown) {
  Fixture job(2);
  job.by_itself(1, Lost{"silence"});
  job.outcome.cause = job::Cause::interrupted;
  job.outcome.signal = SIGTERM;
  EXPECT_EQ(job.summary(), "dlaunch: interrupted by SIGTERM after 20.0 s\ndlaunch: 1 rank was lost: rank 1\n");
  job.outcome.idle = true;
  EXPECT_THAT(job.summary(), StartsWith("dlaunch: interrupted by SIGTERM after 20.0 s: no rank was running\n"));
}

/// Rank 1 did not end after SIGKILL, rank 2 had no known end, and the host of ranks 3 and 4 did not answer.
TEST(FailureSummary, TimeoutNamesOnlyRanksThatSurelyRan) {
  Fixture job(6);
  job.end_all(SIGTERM);
  for (const int i : {1, 5}) job.by_itself(i, Lost{"lost"});
  job.rank(1).needed_kill = true;
  for (const int i : {2, 3, 4}) job.rank(i).status.reset();
  job.rank(3).unheard = job.rank(4).unheard = true;
  job.rank(4).pid = 0;
  for (const int i : {2, 3, 4}) job.rank(i).ended_by_us = false;
  job.outcome.cause = job::Cause::timeout;
  EXPECT_EQ(job.summary(),
            "dlaunch: timed out after 20.0 s: ranks 0-2 were still running\n"
            "dlaunch: 2 ranks were lost: ranks 1,5\n"
            "dlaunch: unknown exit status: ranks 2-3\n"
            "dlaunch: unknown whether started: rank 4\n");
}

TEST(FailureSummary, OutputWithoutAnEndMayBeMissing) {
  Fixture job(1);
  job.fail_first(0, Exited{7});
  job.outcome.unended = true;
  EXPECT_THAT(
      job.summary(),
      EndsWith("dlaunch: the end of the ranks' output may be missing: agents did not send all output in time\n"));
}

TEST(FailureSummary, TimeoutNamesRunningRanks) {
  Fixture job(8);
  job.end_all(SIGTERM);
  for (const int i : {0, 1, 2, 6}) job.by_itself(i, Exited{0});
  job.outcome.cause = job::Cause::timeout;
  EXPECT_EQ(job.summary(), "dlaunch: timed out after 20.0 s: ranks 3-5,7 were still running\n");
}

/// The cause came after 5.0 s, and all processes had ended after `ended`.
std::string summary_of_slow_end(const Fixture& job, milliseconds ended) {
  return failure_summary({.plan = job.plan,
                          .outcome = job.outcome,
                          .last_lines = {},
                          .log_path = {},
                          .elapsed = milliseconds(5000),
                          .ended = ended});
}

TEST(FailureSummary, StatesTheEndOfAllProcessesIfItIsNoticeablyLater) {
  Fixture job(2);
  job.end_all(SIGTERM);
  job.outcome.cause = job::Cause::timeout;
  const std::string cause = "dlaunch: timed out after 5.0 s: ranks 0-1 were still running\n";
  EXPECT_EQ(summary_of_slow_end(job, milliseconds(5900)), cause);
  EXPECT_EQ(summary_of_slow_end(job, milliseconds(8400)), cause + "dlaunch: all processes had ended after 8.4 s\n");
  job.outcome.leftovers = {"node1: pid 12 (python3)"};
  EXPECT_THAT(summary_of_slow_end(job, milliseconds(8400)), Not(HasSubstr("had ended")));
}

TEST(FailureSummary, FailedRankIsFollowedByTheEndOfAllProcesses) {
  Fixture job(2);
  job.fail_first(1, Exited{3});
  job.rank(0).needed_kill = true;
  EXPECT_THAT(summary_of_slow_end(job, milliseconds(10000)),
              EndsWith("dlaunch: stopped the other rank (1 needed KILL)\n"
                       "dlaunch: all processes had ended after 10.0 s\n"));
}

TEST(FailureSummary, PreemptionStatesTheEndOfAllProcessesOnce) {
  Fixture job(2);
  job.outcome.cause = job::Cause::preempted;
  job.outcome.preempted = {.signal = SIGUSR1, .used = milliseconds(3000)};
  EXPECT_EQ(summary_of_slow_end(job, milliseconds(8100)),
            "dlaunch: preempted by SIGUSR1 after 5.0 s: all ranks exited with 0 within 3.0 s\n");
  EXPECT_THAT(summary_of_slow_end(job, milliseconds(14000)), EndsWith("all processes had ended after 14.0 s\n"));
  job.by_itself(1, Lost{"silence"});
  EXPECT_THAT(summary_of_slow_end(job, milliseconds(8100)), StartsWith("dlaunch: preempted by SIGUSR1 after 5.0 s\n"));
}

TEST(FailureSummary, ReportsALostHost) {
  Fixture job(4);
  job.end_all(SIGTERM);
  job.by_itself(2, Lost{"no heartbeat"});
  job.outcome.cause = job::Cause::host_lost;
  job.outcome.lost_hosts = {{"node1", "no heartbeat for 15 s\n", ""}};
  EXPECT_EQ(job.summary(),
            "dlaunch: a host was lost after 20.0 s: node1: no heartbeat for 15 s\n"
            "dlaunch: stopped 3 ranks\n"
            "dlaunch: 1 rank was lost: rank 2\n");
}

TEST(FailureSummary, ReportsAnUnusableHost) {
  Fixture job(4);
  job.outcome.ranks = std::vector<job::RankRecord>(4);
  job.outcome.cause = job::Cause::host_lost;
  job.outcome.lost_hosts = {{"node1", "connection refused", "start sshd there"}};
  EXPECT_EQ(job.summary(),
            "dlaunch: cannot use a host: node1: connection refused\n"
            "dlaunch:   start sshd there\n"
            "dlaunch: 4 ranks were never started\n");
}

TEST(FailureSummary, GroupsUnusableHostsByReason) {
  Fixture job(4);
  job.outcome.ranks = std::vector<job::RankRecord>(4);
  job.outcome.cause = job::Cause::host_lost;
  job.outcome.lost_hosts = {{"node1", "refused", "start sshd there"},
                            {"login", "its agent was not ready", ""},
                            {"node2", "refused", "start sshd there"},
                            {"node3", "refused", "start sshd there"}};
  EXPECT_EQ(job.summary(),
            "dlaunch: cannot use 4 hosts:\n"
            "dlaunch: login: its agent was not ready\n"
            "dlaunch: node[1-3]: refused\n"
            "dlaunch:   start sshd there\n"
            "dlaunch: 4 ranks were never started\n");
}

TEST(FailureSummary, EndsWithTheCommandForUnsweptHosts) {
  Fixture job(2);
  job.plan.job_id = "00ff";
  for (const char* name : {"node2", "node3", "node4"}) job.plan.hosts.emplace_back().host.name = name;
  job.outcome.cause = job::Cause::host_lost;
  job.outcome.lost_hosts = {{"node4", "its agent fell silent", ""}};
  job.outcome.swept = {1, 2};
  job.outcome.unswept = {{3, "no route"}};
  const std::string text = failure_summary({.plan = job.plan,
                                            .outcome = job.outcome,
                                            .last_lines = {},
                                            .log_path = {},
                                            .elapsed = milliseconds(20000),
                                            .shell_there = [](const plan::Host& host) { return "to " + host.name; }});
  EXPECT_EQ(
      text,
      "dlaunch: a host was lost after 20.0 s: node4: its agent fell silent\n"
      "dlaunch: no process with the job's environment or control group is left on node[2-3] (dlaunch connected again)\n"
      "dlaunch: processes of the job may still run on node4; this command kills them:\n"
      "dlaunch:   " +
          end_job_command("00ff", "to node4") + "\n");
}

TEST(FailureSummary, DoesNotCallAHostEmptyThatOnlyTheBatchSystemReaches) {
  Fixture job(2);
  for (const char* name : {"node2", "node3"}) job.plan.hosts.emplace_back().host.name = name;
  job.end_all(SIGKILL);
  job.outcome.cause = job::Cause::host_lost;
  job.outcome.lost_hosts = {{"node2", "its agent fell silent", ""}};
  job.outcome.ended_by_manager = {1, 2};
  const auto summary = [&] {
    return failure_summary({.plan = job.plan,
                            .outcome = job.outcome,
                            .last_lines = {},
                            .log_path = {},
                            .elapsed = milliseconds(20000),
                            .ended = milliseconds(25000)});
  };
  EXPECT_THAT(summary(),
              HasSubstr("dlaunch: dlaunch on node[2-3] ends the remaining processes there (this dlaunch cannot "
                        "connect again)\n"));
  job.plan.manager.emplace();
  const std::string text = summary();
  EXPECT_THAT(text, HasSubstr("dlaunch: the batch system ends the remaining processes on node[2-3] (dlaunch cannot "
                              "connect again)\n"));
  EXPECT_THAT(text, Not(HasSubstr("had ended")));
  EXPECT_THAT(text, Not(HasSubstr("is left on")));
}

TEST(FailureSummary, NamesUnsweptHostsOfEarlierRounds) {
  Fixture job(1);
  job.plan.job_id = "00ff";
  plan::Host before;
  before.name = "node9";
  const auto summary = [&] {
    return failure_summary({.plan = job.plan,
                            .outcome = job.outcome,
                            .last_lines = {},
                            .log_path = {},
                            .elapsed = milliseconds(5000),
                            .shell_there = [](const plan::Host& host) { return "to " + host.name; },
                            .ended = milliseconds(9000),
                            .unswept_before = {before}});
  };
  EXPECT_EQ(summary(), "") << "the restart named the host";
  job.fail_first(0, Exited{7});
  EXPECT_THAT(summary(), EndsWith("dlaunch: processes of the job may still run on node9; this command kills them:\n"
                                  "dlaunch:   " +
                                  end_job_command("00ff", "to node9") + "\n"));
  EXPECT_THAT(summary(), Not(HasSubstr("all processes had ended")));
}

TEST(FailureSummary, ReportsFailedOutput) {
  Fixture job(4);
  job.end_all(SIGTERM);
  job.outcome.cause = job::Cause::output_failed;
  job.outcome.detail = "cannot write /full/rank.0: No space left on device\nfree space there";
  EXPECT_THAT(job.summary(),
              StartsWith("dlaunch: output failed after 20.0 s: cannot write /full/rank.0: No space left on device\n"
                         "dlaunch:   free space there\n"));
}

TEST(FailureSummary, ReportsFailedInput) {
  Fixture job(4);
  job.end_all(SIGTERM);
  job.outcome.cause = job::Cause::input_failed;
  job.outcome.detail = "cannot read stdin: Is a directory\nuse another file";
  EXPECT_THAT(job.summary(), StartsWith("dlaunch: input failed after 20.0 s: cannot read stdin: Is a directory\n"
                                        "dlaunch:   use another file\n"));
}

TEST(FailureSummary, IsEmptyIfTheReaderOfStdoutExited) {
  Fixture job(4);
  job.end_all(SIGTERM);
  job.outcome.cause = job::Cause::output_failed;
  EXPECT_EQ(job.summary(), "");
}

TEST(FailureSummary, EscapesControlCharactersOfLastLines) {
  Fixture job(1);
  job.fail_first(0, Exited{1});
  const std::string text = job.summary({"\x1b]0;owned\x07 \x1b[31mred\x1b[0m", std::string(1000, 'x')});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("  | \\x1b]0;owned\\x07 red\n"));
  EXPECT_THAT(text, HasSubstr("x … 600 more bytes\n"));
}

TEST(FailureSummary, OmitsValuesOfTheEnvironment) {
  Fixture job(2);
  job.fail_first(0, NotStarted{ENOENT, "cannot execute ./train"});
  EXPECT_THAT(job.summary(), Not(HasSubstr("hush")));
}

TEST(DurationText, UsesFewDigits) {
  EXPECT_EQ(duration_text(milliseconds(34)), "0.03 s");
  EXPECT_EQ(duration_text(milliseconds(12'420)), "12.4 s");
  EXPECT_EQ(duration_text(milliseconds(59'990)), "1 min 0 s");
  EXPECT_EQ(duration_text(std::chrono::seconds(185)), "3 min 5 s");
  EXPECT_EQ(duration_text(std::chrono::minutes(127)), "2 h 7 min");
}

}  // namespace
}  // namespace dlaunch::report
