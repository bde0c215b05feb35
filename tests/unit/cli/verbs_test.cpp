// `dlaunch hosts`, `dlaunch check` and `dlaunch help`: only the first word is a subcommand.
#include "cli/subcommands.h"
#include "command_line_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Verbs, TakeTheOptionsOfAJob) {
  const Options hosts = CommandLineFixture{}.options({"hosts", "-H", "a:2,b", "--format", "json"});
  EXPECT_EQ(hosts.verb, Verb::hosts);
  EXPECT_EQ(hosts.format, Format::json);
  EXPECT_EQ(hosts.hosts.list.size(), 2u);
  EXPECT_THAT(programs(hosts), IsEmpty());
  const Options check =
      CommandLineFixture{}.options({"check", "-n", "4", "--wdir", "/data", "-H", "a", "train", "--fast"});
  EXPECT_EQ(check.verb, Verb::check);
  EXPECT_THAT(programs(check), ElementsAre(Words{"train", "--fast"}));
  EXPECT_EQ(check.request.apps[0].wdir, "/data");
}

TEST(Verbs, CheckNeedsNoProgramAndKeepsItsDirectory) {
  const Options check = CommandLineFixture{}.options({"check", "-wdir", "/data"});
  ASSERT_EQ(check.request.apps.size(), 1u);
  EXPECT_THAT(check.request.apps[0].argv, IsEmpty());
  EXPECT_EQ(check.request.apps[0].wdir, "/data");
}

TEST(Verbs, LaterWordIsAProgram) {
  for (const Words& args : {Words{"--", "check"}, Words{"-n", "4", "check"}, Words{"--label", "check"}}) {
    const Options options = CommandLineFixture{}.options(args);
    EXPECT_EQ(options.verb, Verb::run);
    EXPECT_THAT(programs(options), ElementsAre(Words{"check"}));
  }
  EXPECT_EQ(CommandLineFixture{}.options({"./hosts"}).verb, Verb::run);
  EXPECT_THAT(programs(CommandLineFixture{}.options({"check", "check"})), ElementsAre(Words{"check"}));
}

TEST(Verbs, HostsTakesNoProgram) {
  EXPECT_THAT(CommandLineFixture{}.error({"hosts", "train"}),
              testing::AllOf(HasSubstr("hosts: unexpected program \"train\""), HasSubstr("-- hosts")));
}

TEST(Verbs, RejectOptionsWithoutEffect) {
  EXPECT_THAT(CommandLineFixture{}.error({"check", "--dry-run"}), HasSubstr("--dry-run conflicts with check"));
  EXPECT_THAT(CommandLineFixture{}.error({"hosts", "--format", "jsonl"}),
              HasSubstr("--format jsonl conflicts with hosts"));
  EXPECT_THAT(CommandLineFixture{}.error({"check", "--report", "r.json", "train"}),
              HasSubstr("--report conflicts with check"));
}

TEST(Verbs, HelpDescribesColumnsAndExitCodes) {
  const std::string hosts = CommandLineFixture{}.text({"hosts", "-H", "a", "--help"});
  EXPECT_THAT(hosts, testing::AllOf(testing::StartsWith("Usage: dlaunch hosts [options]\n"), HasSubstr("  slots "),
                                    HasSubstr("  reached "), HasSubstr("Exit codes:"), HasSubstr("--hostfile")));
  const std::string check = CommandLineFixture{}.text({"check", "-h"});
  EXPECT_THAT(check, testing::AllOf(testing::StartsWith("Usage: dlaunch check [options]"), HasSubstr("  clock "),
                                    HasSubstr("  names "), HasSubstr("Exit codes:"), HasSubstr("--ascend")));
  EXPECT_EQ(hosts, CommandLineFixture{}.text({"help", "hosts"}));
  EXPECT_EQ(check, CommandLineFixture{}.text({"help", "check"}));
}

/// The help that the parser of `stacks` or `chaos` returns.
std::string own_help(const Words& words) {
  const auto line = read_command_line("dlaunch", words);
  if (line->verb == Verb::stacks) return parse_stacks(line->words)->help;
  return std::get<ChaosHelp>(*parse_chaos(line->words)).text;
}

TEST(Verbs, HelpPrintsThePageOfASubcommand) {
  for (const auto& [words, usage] : {std::pair{Words{"help", "stacks"}, "Usage: dlaunch stacks [JOB|PID]"},
                                     std::pair{Words{"help", "chaos"}, "Usage: dlaunch chaos --fault"}}) {
    const std::string text = own_help(words);
    EXPECT_THAT(text, testing::AllOf(testing::StartsWith(usage), HasSubstr("Exit codes:")));
    for (const TextLine& line : lines_of(text, "")) EXPECT_LE(line.text.size(), 100u) << line.text;
  }
}

TEST(Verbs, MissingOperandHasTheNameOfTheUsage) {
  const auto parsed = parse_stacks(Words{"--all"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().what, "missing JOB|PID");
}

TEST(Verbs, HelpAfterTheFirstWordIsAProgram) {
  for (const Words& args : {Words{"--", "help"}, Words{"-n", "4", "help"}}) {
    EXPECT_THAT(programs(CommandLineFixture{}.options(args)), ElementsAre(Words{"help"}));
  }
  EXPECT_EQ(CommandLineFixture{}.options({"./help"}).verb, Verb::run);
}

}  // namespace
}  // namespace dlaunch::cli
