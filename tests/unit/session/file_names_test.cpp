#include "session/file_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/environment.h"
#include "launcher/frames.h"

namespace dlaunch::session {
namespace {

using testing::HasSubstr;

/// A job with two ranks on this machine.
class FileNames : public testing::Test {
 protected:
  FileNames() {
    plan.hosts.push_back({{}, {0, 1}});
    plan.hosts.front().host.local = true;
    for (int rank = 0; rank < 2; ++rank) {
      plan::Rank planned;
      planned.rank = rank;
      planned.local_rank = rank;
      plan.ranks.push_back(planned);
    }
  }
  void log(const std::string& out, const std::string& err = "") {
    options.output.files = output::FileSettings{.target = out, .by_stream = true, .err_target = err};
  }
  std::string error(const std::string& pid_file = "") const {
    const auto checked = check_file_names(options, pid_file, plan);
    return checked ? "" : to_text(checked.error());
  }

  plan::Plan plan;
  JobOptions options;
};

TEST_F(FileNames, RejectsTwoOptionsWithTheSameFile) {
  options.report_file = "/w/a";
  EXPECT_EQ(error("/w/b"), "");
  EXPECT_THAT(error("/w/x/../a"), HasSubstr("--report conflicts with --report-pid: both write /w/a"));
  log("/w/b", "/w/./a");
  EXPECT_THAT(error(), HasSubstr("--report conflicts with --stderr-file: both write /w/a"));
  log("/w/{rank}");
  EXPECT_EQ(error(), "");
  EXPECT_THAT(error("/w/1"), HasSubstr("--report-pid conflicts with --stdout-file: both write /w/1"));
  options.output.files = output::FileSettings{.target = "/w"};
  EXPECT_EQ(error(), "");
  EXPECT_THAT(error("/w/1/rank.1/stderr"), HasSubstr("--report-pid conflicts with --output-filename"));
}

TEST_F(FileNames, RejectsAFileOfALaterRound) {
  plan.restarts = 12;
  options.junit_file = "/w/o.round.12";
  log("/w/o");
  EXPECT_THAT(error(), HasSubstr("--junit conflicts with --stdout-file: both write /w/o.round.12"));
  log("/w/o.{round}");
  options.junit_file = "/w/o.3";
  EXPECT_THAT(error(), HasSubstr("both write /w/o.3"));
  options.output.files = output::FileSettings{.target = "/w"};
  EXPECT_THAT(error("/w/1/round.2/rank.0/stdout"), HasSubstr("--report-pid conflicts with --output-filename"));
  plan.restarts = 1;
  EXPECT_EQ(error("/w/1/round.2/rank.0/stdout"), "");
}

TEST_F(FileNames, RejectsAFileInPlaceOfTheRecordOfAnEarlierAttempt) {
  options.report_file = "/w/r";
  plan.attempt = 2;
  EXPECT_THAT(error("/w/r.attempt.0"),
              HasSubstr("--report conflicts with --report-pid: the record of an earlier attempt "
                        "is renamed to /w/r.attempt.0"));
  options.junit_file = "/w/x/../r.attempt.1";
  EXPECT_THAT(error(), HasSubstr("--report conflicts with --junit"));
  options.junit_file = "/w/r.attempt.2";
  EXPECT_EQ(error("/w/r.attempt.x"), "");
  options.output.files = output::FileSettings{.target = "/w/r.attempt.0"};
  EXPECT_THAT(error(), HasSubstr("--report conflicts with --output-filename"));
  plan.attempt = std::nullopt;
  EXPECT_EQ(error("/w/r.attempt.1"), "");
}

TEST_F(FileNames, RejectsAnErrorFileThatIsALog) {
  options.error_file = "/w/{rank}.e";
  for (plan::Rank& rank : plan.ranks)
    rank.env.push_back(std::string(launcher::kErrorFileVariable) + "=/w/" + std::to_string(rank.rank) + ".e");
  log("/w/{rank}.o", "/w/{rank}.o");
  EXPECT_EQ(error(), "");
  log("", "/w/1.e");
  EXPECT_THAT(error(), HasSubstr("--error-file conflicts with --stderr-file: both write /w/1.e"));
}

TEST_F(FileNames, RejectsFilesThatTheStartOfTheRanksRemoves) {
  plan.ranks[1].dir = "/w/d1";
  options.report_file = "/w/d1/../d10";
  options.junit_file = "/w/d1.xml";
  EXPECT_EQ(error("/w/d1"), "");
  EXPECT_THAT(error("/w/d1/./pid"), HasSubstr("--report-pid conflicts with --rank-dir: the start of the job removes"));
  options.junit_file = "/w/d1/a/junit";
  EXPECT_THAT(error(), HasSubstr("--junit conflicts with --rank-dir"));
  options.junit_file.clear();
  options.report_file = "/w/./d1/record";
  EXPECT_THAT(error(), HasSubstr("--report conflicts with --rank-dir"));
  options.report_file.clear();
  options.output.files = output::FileSettings{.target = "/w/d1/../d1/logs/"};
  EXPECT_EQ(error(), "");
  options.output.keep_logs = 1;
  EXPECT_THAT(error(), HasSubstr("--keep-logs conflicts with --rank-dir"));
  for (const char* const beside : {"/w/d1", "/w", "/w/d1/{rank}"}) {
    options.output.files->target = beside;
    EXPECT_EQ(error(), "") << beside;
  }
}

TEST_F(FileNames, RejectsALogInPlaceOfTheLaunchersFileInARankDirectory) {
  for (plan::Rank& rank : plan.ranks) rank.dir = "/w/r" + std::to_string(rank.rank);
  log("/w/r{rank}/env.log");
  EXPECT_EQ(error(), "");
  options.save_env = true;
  EXPECT_THAT(error(), HasSubstr("--save-env conflicts with --stdout-file: both write /w/r0/env.log"));
  log("", "/w/r1/./env.log");
  EXPECT_THAT(error(), HasSubstr("--save-env conflicts with --stderr-file: both write /w/r1/env.log"));
  options.output.files = output::FileSettings{.target = "/w/r0/env.log"};
  EXPECT_EQ(error(), "");
  log("/w/r{rank}/log");
  EXPECT_EQ(error(), "");
  options.save_env = false;
  log("/w/r1/.dlaunch-rank-dir");
  EXPECT_THAT(error(), HasSubstr("--rank-dir conflicts with --stdout-file: both write /w/r1/.dlaunch-rank-dir"));
}

TEST_F(FileNames, RejectsFilesThatKeepLogsRenames) {
  options.output.files = output::FileSettings{.target = "/w/logs/"};
  options.report_file = "/w/logs/job.json";
  EXPECT_EQ(error(), "");
  options.output.keep_logs = 2;
  EXPECT_THAT(error(),
              HasSubstr("--keep-logs conflicts with --report: the start of the job renames or removes /w/logs\n"));
  for (const char* const beside : {"/w/logs.3/a", "/w/logs.0/a", "/w/logs.json", "/w/logs2/a", "/w/logs.x/a"}) {
    options.report_file = beside;
    EXPECT_EQ(error(), "") << beside;
  }
  options.report_file.clear();
  options.junit_file = "/w/a/../logs.2/b/junit";
  EXPECT_THAT(error(), HasSubstr("--keep-logs conflicts with --junit: "));
  options.junit_file.clear();
  EXPECT_THAT(error("/w/logs.1/pid"), HasSubstr("--keep-logs conflicts with --report-pid: "));
  plan.ranks[1].dir = "/w/logs/d";
  EXPECT_EQ(error(), "");
  plan.ranks[1].dir = "/w/logs.1/d";
  EXPECT_THAT(error(), HasSubstr("--keep-logs conflicts with --rank-dir: "));
  plan.ranks[1].dir.clear();
  options.error_file = "/w/logs/e{rank}.json";
  plan.ranks[1].env.push_back(std::string(launcher::kErrorFileVariable) + "=/w/logs/e1.json");
  EXPECT_THAT(error(), HasSubstr("--keep-logs conflicts with --error-file: "));
}

TEST_F(FileNames, AcceptsSharedDevices) {
  options.report_file = "/dev/stdout";
  log("/dev/stdout", "/dev/null");
  EXPECT_EQ(error("/dev/stdout"), "");
}

}  // namespace
}  // namespace dlaunch::session
