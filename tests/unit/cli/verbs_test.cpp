// `dlaunch hosts` and `dlaunch check`: the first word alone is a verb.
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

TEST(Verbs, AnywhereElseTheWordIsAProgram) {
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

TEST(Verbs, WhatWouldDoNothingIsRefused) {
  EXPECT_THAT(CommandLineFixture{}.error({"check", "--dry-run"}), HasSubstr("--dry-run conflicts with check"));
  EXPECT_THAT(CommandLineFixture{}.error({"hosts", "--format", "jsonl"}),
              HasSubstr("--format jsonl conflicts with hosts"));
  EXPECT_THAT(CommandLineFixture{}.error({"check", "--report", "r.json", "train"}),
              HasSubstr("--report conflicts with check"));
}

TEST(Verbs, HelpNamesThem) {
  for (const Words& args : {Words{"--help"}, Words{"check", "--help"}}) {
    EXPECT_THAT(CommandLineFixture{}.text(args),
                testing::AllOf(HasSubstr("dlaunch hosts [options]"), HasSubstr("dlaunch check ")));
  }
  EXPECT_THAT(CommandLineFixture{}.text({"--help-man"}), HasSubstr(".SH HOSTS AND CHECK"));
}

}  // namespace
}  // namespace dlaunch::cli
