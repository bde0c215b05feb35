// The words of each program on the command line: boundaries, options, and unchanged arguments.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "command_line_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Program, KeepsItsArgumentsByteForByte) {
  const Words words{"prog", "", "two words", "--", "-x", "--help", "-n", "3", "$HOME*\\'\"", "\n", "\xff\x01", "a=b"};
  Words args{"-n", "2"};
  args.insert(args.end(), words.begin(), words.end());
  EXPECT_THAT(programs(CommandLineFixture{}.options(args)), ElementsAre(words));
}

TEST(Program, MayFollowTheEndOfOptions) {
  EXPECT_THAT(programs(CommandLineFixture{}.options({"-n", "2", "--", "--prog", "--", "x"})),
              ElementsAre(Words{"--prog", "--", "x"}));
  EXPECT_THAT(programs(CommandLineFixture{}.options({"--", "help"})), ElementsAre(Words{"help"}));
}

TEST(Program, NameMayBeAnyWordExceptOptionsAndSubcommands) {
  for (const std::string name : {"version", "./help", "=", "n", "./-n", "{rank}"}) {
    EXPECT_THAT(programs(CommandLineFixture{}.options({name})), ElementsAre(Words{name}));
  }
}

TEST(Program, IsRequiredWithAUsageLine) {
  for (const Words& args : {Words{}, Words{"-n", "2"}, Words{"--"}, Words{":"}, Words{":", ":"}, Words{"--label"}}) {
    EXPECT_THAT(CommandLineFixture{}.error(args),
                testing::AllOf(HasSubstr("dlaunch: missing program\n"), HasSubstr("run dlaunch [options] program")))
        << args.size();
  }
  EXPECT_THAT(CommandLineFixture{}.error({""}),
              HasSubstr("missing program: the first word after the options is empty"));
}

struct Split {
  Words args;
  std::vector<Words> programs;
};

void PrintTo(const Split& split, std::ostream* out) { print_words(split.args, *out); }

class Groups : public testing::TestWithParam<Split> {};

TEST_P(Groups, AreSplitAtLoneColons) {
  EXPECT_EQ(programs(CommandLineFixture{}.options(GetParam().args)), GetParam().programs);
}

INSTANTIATE_TEST_SUITE_P(
    All, Groups,
    testing::Values(Split{{"a", ":", "b", ":", "c"}, {{"a"}, {"b"}, {"c"}}}, Split{{"a", ":"}, {{"a"}}},
                    Split{{"a", ":", ":", "b"}, {{"a"}, {"b"}}}, Split{{":", "a"}, {{"a"}}},
                    Split{{"a", "x:y", ":z", "::"}, {{"a", "x:y", ":z", "::"}}},
                    Split{{"-n", "1", "a", "-n", "9", ":", "-n", "2", "b"}, {{"a", "-n", "9"}, {"b"}}},
                    Split{{"a", ":", "--", "-b", ":", "c"}, {{"a"}, {"-b"}, {"c"}}}, Split{{"-x", ":", "a"}, {{"a"}}}));

TEST(Groups, MayHaveHostsOfTheirOwn) {
  const Options options = CommandLineFixture{}.options(
      {"-H", "a:2,b", "p", ":", "-H", "c", "-H", "a:3", "q", ":", "r", ":", "-H", "b:*", "s"});
  std::vector<int> pools;
  for (const auto& app : options.request.apps) pools.push_back(app.pool);
  EXPECT_THAT(pools, ElementsAre(0, 1, 0, 2));
  std::vector<std::string> hosts;
  for (const auto& entry : options.hosts.list) hosts.push_back(entry.name + std::to_string(entry.pool));
  EXPECT_THAT(hosts, ElementsAre("a0", "b0", "c1", "a1", "b2"));
}

TEST(Groups, HaveTheirOwnRanksAndTheEnvironmentOfTheFirst) {
  CommandLineFixture fixture;
  fixture.files["/cwd/e"] = "F=1\n";
  const auto apps = fixture
                        .options({"-n", "1", "-x", "A=1", "-wdir", "d", "a", ":", "-n", "2", "-x", "A=2", "--env-file",
                                  "e", "b", ":", "-wdir", "/e", "c"})
                        .request.apps;
  ASSERT_EQ(apps.size(), 3u);
  EXPECT_EQ(apps[0].ranks, 1);
  EXPECT_EQ(apps[1].ranks, 2);
  EXPECT_EQ(apps[2].ranks, std::nullopt);
  EXPECT_THAT(variables(apps[0]), ElementsAre("A=1"));
  EXPECT_THAT(variables(apps[1]), ElementsAre("A=1", "A=2", "F=1"));
  EXPECT_THAT(variables(apps[2]), ElementsAre("A=1"));
  EXPECT_EQ(apps[0].wdir, "/cwd/d");
  EXPECT_EQ(apps[1].wdir, "/cwd/d");
  EXPECT_EQ(apps[2].wdir, "/e");
}

TEST(Groups, RejectJobOptionsAfterTheFirst) {
  for (const Words& args :
       {Words{"a", ":", "--timeout", "3", "b"}, Words{"a", ":", "-v", "b"}, Words{"a", ":", "--app", "f"}}) {
    EXPECT_THAT(CommandLineFixture{}.error(args), HasSubstr("before the first program"));
  }
}

TEST(Groups, RequireAProgramAfterOptions) {
  EXPECT_THAT(CommandLineFixture{}.error({"a", ":", "-n", "2"}), HasSubstr("missing program after -n"));
  EXPECT_THAT(CommandLineFixture{}.error({"-n", "2", ":", "b"}), HasSubstr("missing program after -n"));
}

TEST(Variables, AddUpInOrder) {
  CommandLineFixture fixture;
  fixture.files["/cwd/vars"] = "# comment\r\n\n  # another\nA=1\r\nB= a = b \nC=\n";
  const auto apps =
      fixture.options({"-x", "V", "-x", "W=x=y", "--env-file", "vars", "-x", "P_*", "-x", "E=", "prog"}).request.apps;
  EXPECT_THAT(variables(apps.front()), ElementsAre("V", "W=x=y", "A=1", "B= a = b ", "C=", "P_*", "E="));
}

TEST(Variables, KeepUnusualBytes) {
  const auto apps = CommandLineFixture{}.options({"-x", "A=\x01\xff\n'\"", "-x", "BASH_FUNC_f%%", "prog"}).request.apps;
  EXPECT_THAT(variables(apps.front()), ElementsAre("A=\x01\xff\n'\"", "BASH_FUNC_f%%"));
}

TEST(AppFile, HasOneProgramPerLine) {
  CommandLineFixture fixture;
  fixture.files["/cwd/apps"] =
      "# the server\r\n"
      "\n"
      "-n 1 ./server --port 80  # its port\r\n"
      "-n 2 -x ROLE=client -wdir /w ./client 'a b' \"c \\\"d\\\" \\n\" e\\ f '' x#y : -n 3 ./third\n";
  const auto apps = fixture.options({"-x", "ALL=1", "--app", "apps"}).request.apps;
  ASSERT_EQ(apps.size(), 3u);
  EXPECT_THAT(apps[0].argv, ElementsAre("./server", "--port", "80"));
  EXPECT_THAT(apps[1].argv, ElementsAre("./client", "a b", "c \"d\" \\n", "e f", "", "x#y"));
  EXPECT_THAT(apps[2].argv, ElementsAre("./third"));
  EXPECT_EQ(apps[2].ranks, 3);
  EXPECT_EQ(apps[0].ranks, 1);
  EXPECT_EQ(apps[1].ranks, 2);
  EXPECT_EQ(apps[1].wdir, "/w");
  EXPECT_THAT(variables(apps[0]), ElementsAre("ALL=1"));
  EXPECT_THAT(variables(apps[1]), ElementsAre("ALL=1", "ROLE=client"));
}

struct BadFile {
  std::string text;
  std::vector<std::string> words;  // of the error
};

void PrintTo(const BadFile& file, std::ostream* out) { print_words({file.text}, *out); }

class BadAppFile : public testing::TestWithParam<BadFile> {};

TEST_P(BadAppFile, ErrorHasTheLine) {
  CommandLineFixture fixture;
  fixture.files["/cwd/apps"] = GetParam().text;
  const std::string error = fixture.error({"--app", "apps"});
  for (const std::string& word : GetParam().words) EXPECT_THAT(error, HasSubstr(word));
}

INSTANTIATE_TEST_SUITE_P(All, BadAppFile,
                         testing::Values(BadFile{"a\nb 'c", {"apps:2", "missing closing quote '"}},
                                         BadFile{"b \"c\\\"", {"apps:1", "missing closing quote \""}},
                                         BadFile{"a \\", {"apps:1", "unexpected backslash at the end of the line"}},
                                         BadFile{"a\n\n-n x b", {"apps:3", "-n", "\"x\""}},
                                         BadFile{"-n 2", {"apps:1", "missing program after -n"}},
                                         BadFile{"--timeout 3 b", {"apps:1", "--timeout", "whole job"}},
                                         BadFile{"--wdirr /x b", {"apps:1: unknown option \"--wdirr\"", "use --wdir"}},
                                         BadFile{"--wdir /x/%r b", {"apps:1: --wdir: unknown field \"%r\""}},
                                         BadFile{"''", {"apps:1: missing program"}},
                                         BadFile{std::string("a\0b", 3), {"apps", "NUL"}},
                                         BadFile{"# nothing\n", {"apps: missing program"}}));

TEST(AppFile, ConflictsWithOtherPrograms) {
  CommandLineFixture fixture;
  fixture.files["/cwd/apps"] = "a\n";
  EXPECT_THAT(fixture.error({"--app", "apps", "prog"}), HasSubstr("--app conflicts with a program"));
  EXPECT_THAT(fixture.error({"--app", "apps", ":", "prog"}), HasSubstr("--app conflicts with a program"));
  EXPECT_THAT(fixture.error({"-n", "2", "--app", "apps"}), HasSubstr("--app conflicts with -n"));
  EXPECT_THAT(fixture.error({"--app", "none"}), HasSubstr("cannot read /cwd/none"));
  EXPECT_THAT(fixture.error({"--app", ""}), HasSubstr("--app: missing path"));
}

TEST(ReadWholeFile, DistinguishesMissingFromUnreadable) {
  EXPECT_TRUE(read_whole_file("/nonexistent/x").error().missing);
  const auto directory = read_whole_file("/");
  ASSERT_FALSE(directory);
  EXPECT_FALSE(directory.error().missing);
  EXPECT_THAT(to_text(directory.error().error), HasSubstr("cannot read /: "));
  EXPECT_THAT(read_whole_file("/dev/null").value(), IsEmpty());
}

TEST(ReadWholeFile, ReadsAFifoUntilItsWriterCloses) {
  const std::string path = testing::TempDir() + "fifo." + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::jthread writer([&] {
    std::ofstream fifo(path);
    fifo << "a slots=2\n" << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    fifo << "b slots=2\n";
  });
  EXPECT_EQ(read_whole_file(path).value(), "a slots=2\nb slots=2\n");
  ::unlink(path.c_str());
}

TEST(ReadWholeFile, ReportsAFifoWithoutData) {
  const std::string path = testing::TempDir() + "silent_fifo." + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  constexpr std::chrono::seconds kWait(1);
  const std::string expected = "cannot read " + path + ": timed out after 1 s: no program writes to the FIFO";
  EXPECT_THAT(to_text(read_whole_file(path, {.fifo_wait = kWait}).error().error), HasSubstr(expected));
  const int silent = ::open(path.c_str(), O_RDWR | O_CLOEXEC);  // a writer without data
  EXPECT_THAT(to_text(read_whole_file(path, {.fifo_wait = kWait}).error().error), HasSubstr(expected));
  const Error error = read_whole_file(path, {.until = Clock::now(), .exit_code = 110}).error().error;
  EXPECT_THAT(to_text(error), HasSubstr("cannot read " + path + ": the time limit of the job ended the wait"));
  EXPECT_EQ(error.exit_code, 110);
  ::close(silent);
  ::unlink(path.c_str());
}

TEST(ReadWholeFile, RemovesTheByteOrderMark) {
  const std::string path = testing::TempDir() + "byte_order_mark." + std::to_string(::getpid());
  for (const char* mark : {"\xEF\xBB\xBF", ""}) {
    std::ofstream(path) << mark << "A=1\n";
    EXPECT_EQ(read_whole_file(path).value(), "A=1\n");
  }
  std::ofstream(path, std::ios::trunc) << "\xEF\xBB";
  EXPECT_EQ(read_whole_file(path).value(), "\xEF\xBB");
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace dlaunch::cli
