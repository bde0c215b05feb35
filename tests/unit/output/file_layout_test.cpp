#include "output/file_layout.h"

#include <gmock/gmock.h>

namespace dlaunch::output {
namespace {

using ::testing::HasSubstr;

FileSettings to(const std::string& target) { return {.target = target}; }
const RankFacts kFacts{.host = "node1", .local_rank = 1, .device = 6, .local = true};

TEST(FileLayout, OpenMpiPadsToTheDigitsOfTheSize) {
  EXPECT_EQ(file_path(to("/d"), kFacts, 3, 9, Stream::out), "/d/1/rank.3/stdout");
  EXPECT_EQ(file_path(to("/d/"), kFacts, 3, 10, Stream::err), "/d/1/rank.03/stderr");
  EXPECT_EQ(file_path(to("/d"), kFacts, 99, 100, Stream::out), "/d/1/rank.099/stdout");
  FileSettings flat = to("/d");
  flat.job_directory = false;
  EXPECT_EQ(file_path(flat, kFacts, 3, 4, Stream::out), "/d/rank.3/stdout");
}

TEST(FileLayout, PatternsOfAnAttemptsFilesMatchThoseOfAllRanks) {
  EXPECT_EQ(attempt_patterns(to("/d"), 2), std::vector<std::string>{});
  EXPECT_EQ(attempt_patterns(to("/d/{host}/{rank}.log"), 2).front(), "/d/*/*.log.attempt.2");
  EXPECT_EQ(attempt_patterns(to("/d[1]/{attempt}.{rank}"), 2).front(), "/d\\[1\\]/2.*");
  FileSettings files;
  files.by_stream = true;
  files.target = "/dev/null";
  files.err_target = "/d/err";
  EXPECT_EQ(attempt_patterns(files, 1), std::vector<std::string>{"/d/err.attempt.1"});
  files.append_err = true;
  EXPECT_EQ(attempt_patterns(files, 1), std::vector<std::string>{});
}

TEST(FileLayout, ExpandsTemplates) {
  FileSettings files = to("/d/{job}/{host}/{rank}-{local_rank}-{device}.{stream}");
  files.job = "j7";
  EXPECT_EQ(file_path(files, kFacts, 3, 100, Stream::err), "/d/j7/node1/3-1-6.stderr");
  EXPECT_FALSE(streams_share_file(files));
  EXPECT_TRUE(streams_share_file(to("/d/{rank}.log")));
  EXPECT_FALSE(streams_share_file(to("/d")));
}

TEST(FileLayout, LaterRoundsGetNewFilesExceptForDevices) {
  RankFacts facts = kFacts;
  facts.round = 2;
  FileSettings files;
  files.by_stream = true;
  files.target = "/dev/null";
  files.err_target = "/logs/{rank}";
  EXPECT_EQ(file_path(files, facts, 3, 9, Stream::out), "/dev/null");
  EXPECT_EQ(file_path(files, facts, 3, 9, Stream::err), "/logs/3.round.2");
}

TEST(FileLayout, LaterAttemptsGetNewFiles) {
  RankFacts facts = kFacts;
  facts.attempt = 2;
  EXPECT_EQ(file_path(to("/d"), facts, 3, 9, Stream::out), "/d/1/attempt.2/rank.3/stdout");
  EXPECT_EQ(file_path(to("/d/{rank}.log"), facts, 3, 9, Stream::out), "/d/3.log.attempt.2");
  EXPECT_EQ(file_path(to("/d/{attempt}/{rank}"), facts, 3, 9, Stream::out), "/d/2/3");
  EXPECT_EQ(stacks_base(to("/d"), facts), "/d/1/attempt.2/stacks.");
  EXPECT_EQ(record_stacks_base("/d/record", facts), "/d/record.stacks.attempt.2.");
  const FileSettings grows{.target = "/d/out", .by_stream = true, .err_target = "/d/err", .append = true};
  EXPECT_EQ(file_path(grows, facts, 0, 1, Stream::out), "/d/out") << "nothing in it is overwritten";
  EXPECT_EQ(file_path(grows, facts, 0, 1, Stream::err), "/d/err.attempt.2");
  facts.round = 1;
  EXPECT_EQ(file_path(to("/d"), facts, 3, 9, Stream::out), "/d/1/attempt.2/round.1/rank.3/stdout");
  EXPECT_EQ(file_path(to("/d/{rank}.log"), facts, 3, 9, Stream::out), "/d/3.log.attempt.2.round.1");
  EXPECT_EQ(file_path(to("/d/{attempt}/{rank}"), facts, 3, 9, Stream::out), "/d/2/3.round.1");
  EXPECT_EQ(file_path(to("/d/{attempt}/{rank}"), kFacts, 3, 9, Stream::out), "/d/0/3");
}

TEST(FileLayout, JobsWithACommonDirectoryHaveTheirOwnOtherFiles) {
  const auto of_job = [](FileSettings files) {
    files.job = "5a";
    return files;
  };
  EXPECT_EQ(stacks_base(of_job(to("/d")), kFacts), "/d/1/stacks.") << "a job locks the directory";
  EXPECT_EQ(stacks_base(of_job(to("/d/{rank}.log")), kFacts), "/d/stacks.5a.");
  EXPECT_EQ(stacks_base(of_job({.target = "/d/out", .by_stream = true}), kFacts), "/d/stacks.5a.");
  const FileSettings both{.target = "/dev/null", .by_stream = true, .err_target = "/d/err"};
  EXPECT_EQ(stacks_base(of_job(both), kFacts), "/d/stacks.5a.");
  EXPECT_EQ(stacks_base(of_job({.target = "/dev/null", .by_stream = true}), kFacts), "");
  RankFacts later = kFacts;
  later.round = 1;
  EXPECT_EQ(stacks_base(of_job(to("/d/{rank}.log")), later), "/d/round.1.stacks.5a.");
  EXPECT_EQ(record_stacks_base("/d/record", kFacts), "/d/record.stacks.");
  EXPECT_EQ(record_stacks_base("/d/record", later), "/d/record.stacks.round.1.");
  RankFacts sidecar;
  sidecar.name = "scheduler";
  EXPECT_EQ(file_path(of_job(to("/d/{rank}.log")), sidecar, 0, 1, Stream::out), "/d/scheduler.log") << "locked";
  EXPECT_EQ(file_path(of_job(to("/d/{job}.{rank}.log")), sidecar, 0, 1, Stream::out), "/d/scheduler.5a.log");
}

TEST(FileLayout, RejectsUnknownFields) {
  EXPECT_TRUE(check_file_template("/plain"));
  EXPECT_TRUE(check_file_template("/d/{rank}"));
  const auto bad = check_file_template("/d/{hosts}");
  ASSERT_FALSE(bad);
  EXPECT_THAT(to_text(bad.error()), HasSubstr("use {host}, or another field of:"));
}

TEST(FileLayout, TwoRanksInOneFileNamesTheMissingField) {
  const std::vector<RankFacts> ranks = {{"a", 0, 0}, {"a", 1, 1}, {"b", 0, 0}};
  EXPECT_TRUE(check_one_rank_a_file(to("/d/{rank}"), ranks));
  EXPECT_TRUE(check_one_rank_a_file(to("/d/{host}.{local_rank}"), ranks));
  const auto no_host = check_one_rank_a_file(to("/d/{local_rank}"), ranks);
  ASSERT_FALSE(no_host);
  EXPECT_EQ(no_host.error().hint, "add {host} to the template");
  EXPECT_EQ(no_host.error().what, "ranks 0 and 2 would both write /d/0");
  const auto no_rank = check_one_rank_a_file(to("/d/{host}"), ranks);
  ASSERT_FALSE(no_rank);
  EXPECT_EQ(no_rank.error().hint, "add {rank} to the template");
  EXPECT_EQ(no_rank.error().exit_code, kExitRefused);
}

TEST(FileLayout, DirectOnlyIfNothingElseReads) {
  OutputSettings settings;
  const auto direct = [&](Stream stream) { return direct_path(settings, kFacts, 0, 2, stream); };
  EXPECT_EQ(direct(Stream::out), "");
  settings.files = to("/d");
  EXPECT_EQ(direct(Stream::out), "");
  settings.files->copy = false;
  EXPECT_EQ(direct(Stream::out), "/d/1/rank.0/stdout");
  settings.tag = true;
  EXPECT_EQ(direct(Stream::out), "");
  settings.tag = false;
  settings.pty = true;
  EXPECT_EQ(direct(Stream::out), "");
  EXPECT_EQ(direct(Stream::err), "/d/1/rank.0/stderr");
  settings.pty = false;
  settings.merge_stderr = true;
  EXPECT_EQ(direct(Stream::err), "");
  settings.files = to("/d/{rank}");
  settings.files->copy = false;
  EXPECT_EQ(direct(Stream::out), "/d/0");
  settings.merge_stderr = false;
  EXPECT_EQ(direct(Stream::out), "");
  settings.files = to("/d");
  settings.console_ranks = {1};
  EXPECT_EQ(direct(Stream::out), "/d/1/rank.0/stdout");
}

TEST(FileLayout, RemoteRanksDoNotWriteFilesThemselves) {
  OutputSettings settings;
  settings.files = to("/d");
  settings.files->copy = false;
  RankFacts elsewhere = kFacts;
  elsewhere.local = false;
  EXPECT_EQ(direct_path(settings, elsewhere, 0, 2, Stream::out), "");
  EXPECT_EQ(direct_path(settings, elsewhere, 0, 2, Stream::err), "");
}

TEST(FileLayout, WritesASingleStreamDirectly) {
  OutputSettings settings;
  settings.files = FileSettings{.target = "/d/{rank}.out", .copy = false, .by_stream = true, .err_target = ""};
  EXPECT_EQ(direct_path(settings, kFacts, 1, 2, Stream::out), "/d/1.out");
  EXPECT_EQ(direct_path(settings, kFacts, 1, 2, Stream::err), "");
  EXPECT_FALSE(settings.files->keeps(Stream::err));
  settings.files->err_target = "/d/plain";
  EXPECT_EQ(file_path(*settings.files, kFacts, 1, 2, Stream::err), "/d/plain") << "a name without fields is a file";
  EXPECT_EQ(direct_path(settings, kFacts, 1, 2, Stream::err), "") << "which ranks share";
}

TEST(FileLayout, WritesFilesOfSelectedLocalRanks) {
  OutputSettings settings;
  settings.files = FileSettings{.target = "/d/{rank}", .copy = false, .by_stream = true};
  const int other = kFacts.local_rank == 0 ? 1 : 0;
  settings.files->local = {kFacts.local_rank};
  EXPECT_EQ(direct_path(settings, kFacts, 1, 2, Stream::out), "/d/1");
  settings.files->local = {other};
  EXPECT_EQ(direct_path(settings, kFacts, 1, 2, Stream::out), "");
  EXPECT_FALSE(settings.files->keeps(Stream::out, kFacts.local_rank));
}

TEST(FileLayout, AppendedFileIsNotDirect) {
  OutputSettings settings;
  settings.files = FileSettings{.target = "/d/{rank}", .copy = false, .by_stream = true, .append = true};
  EXPECT_EQ(direct_path(settings, kFacts, 1, 2, Stream::out), "");
}

TEST(FileLayout, SeparateStreamsMayShareAFile) {
  FileSettings files{.target = "/d/{rank}", .copy = false, .by_stream = true, .err_target = "/d/{rank}.err"};
  EXPECT_FALSE(may_be_shared(files));
  for (const char* target : {"/d/{host}.{local_rank}", "/d/{local_rank}", "/d/{device}"}) {
    files.err_target = target;
    EXPECT_FALSE(may_be_shared(files)) << target;
  }
  for (const char* target : {"/d/{rank}", "/d/err", "/d/{host}"}) {
    files.err_target = target;
    EXPECT_TRUE(may_be_shared(files)) << target;
    EXPECT_TRUE(check_one_rank_a_file(files, {kFacts, kFacts})) << target;
    EXPECT_FALSE(check_one_rank_a_file(files, {kFacts, kFacts}, Sharing::never)) << target;
  }
}

}  // namespace
}  // namespace dlaunch::output
