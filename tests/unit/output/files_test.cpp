#include <gmock/gmock.h>
#include <sys/stat.h>

#include "output/channel.h"
#include "output_fixture.h"

namespace dlaunch::output {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;
namespace fs = std::filesystem;

OutputSettings to(const std::string& target, bool copy = true) {
  OutputSettings settings;
  settings.files = FileSettings{};
  settings.files->target = target;
  settings.files->copy = copy;
  return settings;
}

Result<std::unique_ptr<Output>> open_quietly(const OutputSettings& settings, int ranks) {
  static const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  static StandardStreams nowhere({null, null});
  auto output = Output::open(settings, facts_of(ranks), nowhere);
  const auto begun = output ? begin_files(**output) : Result<void>();
  return begun ? std::move(output) : tl::unexpected(begun.error());
}

int mode_of(const std::string& path) {
  struct stat s{};
  return stat(path.c_str(), &s) == 0 ? static_cast<int>(s.st_mode & 0777) : -1;
}

TEST(Files, CreatesEmptyFilesOfTheOpenMpiLayoutAtTheStart) {
  const TempDir dir;
  const mode_t mask = umask(022);
  OutputFixture fixture(to(dir / "a/logs"), 10);
  umask(mask);
  EXPECT_EQ(content(dir / "a/logs/1/rank.09/stderr"), "");
  EXPECT_EQ(mode_of(dir / "a/logs"), 0750);
  EXPECT_EQ(mode_of(dir / "a/logs/1/rank.00"), 0750);
  EXPECT_EQ(mode_of(dir / "a/logs/1/rank.00/stdout"), 0644);
  fixture.feed(3, "par");
  fixture.feed(3, "t\0\xff\r"s);
  fixture.feed(3, "err\n", Stream::err);
  fixture.settle_files();
  EXPECT_EQ(content(dir / "a/logs/1/rank.03/stdout"), "part\0\xff\r"s);
  EXPECT_EQ(content(dir / "a/logs/1/rank.03/stderr"), "err\n");
  EXPECT_EQ(fixture.output->path(3, Stream::out), dir / "a/logs/1/rank.03/stdout");
  fixture.end_all();
  EXPECT_EQ(fixture.shown(), "part\0\xff\r"s);
  EXPECT_FALSE(fixture.output->take_error());
}

TEST(Files, ExistingFilesAreTruncated) {
  const TempDir dir;
  fs::create_directories(dir / "rank.0");
  std::ofstream(dir / "rank.0/stdout") << "old";
  OutputSettings settings = to(dir / "");
  settings.files->job_directory = false;
  OutputFixture fixture(settings, 1);
  fixture.feed(0, "n");
  fixture.settle_files();
  EXPECT_EQ(content(dir / "rank.0/stdout"), "n");
}

TEST(Files, MergedStderrHasNoFile) {
  const TempDir dir;
  OutputSettings settings = to(dir / "");
  settings.merge_stderr = true;
  OutputFixture fixture(settings, 1);
  EXPECT_TRUE(fs::exists(dir / "1/rank.0/stdout"));
  EXPECT_FALSE(fs::exists(dir / "1/rank.0/stderr"));
  EXPECT_EQ(fixture.output->path(0, Stream::err), "");
}

TEST(Files, ContainTagsButNotLabels) {
  const TempDir dir;
  OutputSettings settings = to(dir / "");
  settings.tag = true;
  settings.label = "{host} ";
  OutputFixture fixture(settings, 2);
  fixture.feed(1, "a\nb");
  fixture.end_all();
  fixture.settle_files();
  EXPECT_EQ(content(dir / "1/rank.1/stdout"), "[1,1]<stdout>:a\n[1,1]<stdout>:b");
  EXPECT_EQ(fixture.shown(), "[1,1]<stdout>:node1 a\n[1,1]<stdout>:node1 b");
}

TEST(Files, SharedFileKeepsLinesWhole) {
  const TempDir dir;
  OutputFixture fixture(to(dir / "{host}/{rank}.log"), 2);
  fixture.feed(1, "out");
  fixture.feed(1, "err\n", Stream::err);
  fixture.feed(1, "put\n");
  fixture.feed(1, "end");
  fixture.end_all();
  fixture.settle_files();
  EXPECT_EQ(content(dir / "node1/1.log"), "err\noutput\nend");
  EXPECT_EQ(content(dir / "node1/0.log"), "");
}

TEST(Files, CompleteAlsoForRanksThatAreNotShown) {
  const TempDir dir;
  OutputSettings settings = to(dir / "");
  settings.console_ranks = {0, 1};
  OutputFixture fixture(settings, 3, false, false);
  fixture.feed(0, std::string(4 << 20, '\n'));
  EXPECT_FALSE(fixture.output->ready(1, Stream::out));
  fixture.settle_files();
  EXPECT_TRUE(fixture.output->ready(2, Stream::out));
  fixture.feed(2, "quiet\n");
  fixture.settle_files();
  EXPECT_EQ(content(dir / "1/rank.2/stdout"), "quiet\n");
  EXPECT_EQ(fixture.shown().find("quiet"), std::string::npos);
}

TEST(Files, DirectFilesAreWrittenByTheRank) {
  const TempDir dir;
  const OutputSettings settings = to(dir / "", false);
  OutputFixture fixture(settings, 1);
  const std::string path = direct_path(settings, facts_of(1)[0], 0, 1, Stream::err);
  EXPECT_EQ(path, dir / "1/rank.0/stderr");
  ASSERT_TRUE(fs::exists(path));
  std::ofstream(path) << "first\nlast words\n";
  fixture.end_all();
  fixture.finish_files(0);
  EXPECT_THAT(fixture.output->last_lines(0).lines, ElementsAre("first", "last words"));
  EXPECT_EQ(fixture.output->last_lines(0).path, path);
  EXPECT_EQ(fixture.output->bytes(0, Stream::err), 17U);
  EXPECT_EQ(fixture.shown(), "");
}

TEST(Files, LastLinesAreOfADirectStdoutFileIfStderrIsBlank) {
  const TempDir dir;
  const OutputSettings settings = to(dir / "", false);
  OutputFixture fixture(settings, 1);
  std::ofstream(dir / "1/rank.0/stdout") << "first\nERROR STOP\n";
  std::ofstream(dir / "1/rank.0/stderr") << " \n";
  fixture.end_all();
  fixture.finish_files(0);
  const LastLines last = fixture.output->last_lines(0);
  EXPECT_THAT(last.lines, ElementsAre("first", "ERROR STOP"));
  EXPECT_EQ(last.stream, "stdout");
  EXPECT_EQ(last.path, dir / "1/rank.0/stdout");
}

TEST(Files, ReportsAFullDiskOnceWithThePath) {
  const TempDir dir;
  fs::create_directories(dir / "1/rank.0");
  fs::create_symlink("/dev/full", dir / "1/rank.0/stdout");
  OutputFixture fixture(to(dir / ""), 2);
  fixture.feed(0, "x\n");
  fixture.settle_files();
  const auto error = fixture.output->take_error();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->what, "cannot write " + (dir / "1/rank.0/stdout"));
  EXPECT_EQ(error->why, "No space left on device");
  EXPECT_NE(error->hint, "");
  fixture.feed(0, "y\n");
  fixture.settle_files();
  EXPECT_FALSE(fixture.output->take_error());
  EXPECT_EQ(fixture.shown(), "x\ny\n");
  EXPECT_EQ(fixture.output->bytes(0, Stream::out), 4U);
}

TEST(Files, RejectsAnUncreatableFileWithThePath) {
  const TempDir dir;
  std::ofstream(dir / "file") << "in the way";
  const auto output = open_quietly(to(dir / "file/logs"), 1);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().exit_code, kExitRefused);
  EXPECT_THAT(to_text(output.error()),
              HasSubstr("cannot create " + (dir / "file/logs/1/rank.0/stdout") + ": Not a directory"));
  EXPECT_NE(output.error().hint, "");
}

TEST(Files, FifoWithoutReaderDoesNotBlock) {
  const TempDir dir;
  ASSERT_EQ(mkfifo((dir / "0.log").c_str(), 0600), 0);
  EXPECT_FALSE(open_quietly(to(dir / "{rank}.log"), 1));
}

TEST(Files, RejectsTwoRanksInTheSameFile) {
  const TempDir dir;
  const auto output = open_quietly(to(dir / "{host}.log"), 2);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().hint, "add {rank} to the template");
}

}  // namespace
}  // namespace dlaunch::output
