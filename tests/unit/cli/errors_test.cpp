// What is refused, and that the error says where, what, why and what to do.
#include "command_line_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Refusal {
  Words args;
  std::vector<std::string> words;  // of the error
};

void PrintTo(const Refusal& refusal, std::ostream* out) { print_words(refusal.args, *out); }

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, SaysWhy) {
  const std::string error = CommandLineFixture{}.error(GetParam().args);
  EXPECT_THAT(error, testing::StartsWith("dlaunch: ")) << testing::PrintToString(GetParam().args);
  for (const std::string& word : GetParam().words) EXPECT_THAT(error, HasSubstr(word));
}

INSTANTIATE_TEST_SUITE_P(
    Names, Refused,
    testing::Values(Refusal{{"--on-failur", "abort", "p"},
                            {"--on-failur: unknown option", "did you mean --on-failure?"}},
                    Refusal{{"--hostfle", "h", "p"}, {"--hostfle: unknown", "did you mean --hostfile?"}},
                    Refusal{{"-oversubscrib", "p"}, {"did you mean --oversubscribe?"}},
                    Refusal{{"--nooversubscrbe", "p"}, {"did you mean --nooversubscribe?"}},
                    Refusal{{"-np4", "p"}, {"-np4: unknown option", "write --np 4"}},
                    Refusal{{"-n4", "p"}, {"write -n 4"}}, Refusal{{"-z", "p"}, {"-z: unknown option", "--help"}},
                    Refusal{{"-", "p"}, {"-: unknown option"}}, Refusal{{"---", "p"}, {"---: unknown option"}},
                    Refusal{{"--=x", "p"}, {"--: unknown option"}},
                    Refusal{{"--completely-else", "p"}, {"unknown option", "--help lists"}}));

INSTANTIATE_TEST_SUITE_P(NotYet, Refused,
                         testing::Values(Refusal{{"-mca", "a"}, {"-mca: takes two words: KEY VALUE"}},
                                         Refusal{{"-mca", "a=b", "c", "p"}, {"-mca: takes two words"}},
                                         Refusal{{"-genv=A", "b", "p"}, {"-genv: takes two words: NAME VALUE"}}));

INSTANTIATE_TEST_SUITE_P(
    Values, Refused,
    testing::Values(
        Refusal{{"-n"}, {"-n: needs a value"}}, Refusal{{"-np", "abc", "p"}, {"-np: \"abc\"", "whole number from 1"}},
        Refusal{{"-n", "0", "p"}, {"\"0\""}}, Refusal{{"-n", "-1", "p"}, {"\"-1\""}},
        Refusal{{"-n", "4x", "p"}, {"\"4x\""}}, Refusal{{"-n", " 4", "p"}, {"\" 4\""}},
        Refusal{{"-n", "99999999999999999999", "p"}, {"-n", "9999"}}, Refusal{{"-n=", "p"}, {"-n: \"\""}},
        Refusal{{"--fake-devices", "-1", "p"}, {"--fake-devices", "\"-1\""}},
        Refusal{{"--port", "0", "p"}, {"--port: \"0\" is no port and no range of them", "5000-5010"}},
        Refusal{{"--port", "5001-5000", "p"}, {"--port: \"5001-5000\" is no port", "65535"}},
        Refusal{{"--port", "70000", "p"}, {"--port: \"70000\" is no port", "65535"}},
        Refusal{{"--grace", "soon", "p"}, {"--grace: \"soon\" is not a number of seconds", "0.5"}},
        Refusal{{"--grace", "-1", "p"}, {"\"-1\""}}, Refusal{{"--grace", "inf", "p"}, {"\"inf\""}},
        Refusal{{"--grace", "nan", "p"}, {"\"nan\""}}, Refusal{{"--timeout", "1e3", "p"}, {"\"1e3\""}},
        Refusal{{"--timeout", "", "p"}, {"--timeout"}}, Refusal{{"--grace", "1e10", "p"}, {"--grace"}},
        Refusal{{"--stdin", "some", "p"}, {"--stdin: \"some\"", "none", "all"}},
        Refusal{{"--ranks", "3-1", "p"}, {"--ranks: \"3-1\"", "0,3-5"}}, Refusal{{"--ranks", "", "p"}, {"--ranks"}},
        Refusal{{"--show-env", "x", "p"}, {"--show-env: \"x\""}},
        Refusal{{"--bind-to", "l3cache", "p"}, {"--bind-to: \"l3cache\"", "none, core, hwthread, socket, numa"}},
        Refusal{{"--map-by", "ppr:2:socket", "p"}, {"--map-by: \"ppr:2:socket\"", "ppr:N:node"}},
        Refusal{{"--map-by", "ppr:0:node", "p"}, {"--map-by: \"0\""}},
        Refusal{{"--map-by", "dist", "p"}, {"--map-by: \"dist\"", "slot, core", "ppr:N:node"}},
        Refusal{{"-H", "", "p"}, {"-H: names no host"}}, Refusal{{"--host=a:x", "p"}, {"--host: \"a:x\""}},
        Refusal{{"-H", "-oX", "p"}, {"-H: invalid host name \"-oX\""}},
        Refusal{{"--hostfile", "none", "p"}, {"/cwd/none: cannot read the file"}},
        Refusal{{"-N", "0", "p"}, {"-N: \"0\""}}, Refusal{{"--max-slots", "0", "p"}, {"--max-slots: \"0\""}},
        Refusal{{"--include=", "p"}, {"--include: names no host"}},
        Refusal{{"--rank-by", "span", "p"}, {"--rank-by", "slot, fill, node"}},
        Refusal{{"--color", "red", "p"}, {"--color: \"red\"", "auto, always, never"}},
        Refusal{{"--format", "xml", "p"}, {"--format: \"xml\"", "text, json, jsonl"}},
        Refusal{{"--on-failure", "stop", "p"}, {"--on-failure: \"stop\"", "abort, continue"}},
        Refusal{{"--on-output-error", "x", "p"}, {"--on-output-error", "abort, continue"}},
        Refusal{{"--output-filename", "d:", "p"}, {"--output-filename: \"\"", "nocopy"}},
        Refusal{{"--output-filename", "d:bogus", "p"}, {"\"bogus\" is no directive"}},
        Refusal{{"--output-filename", "d:nocopy,", "p"}, {"\"nocopy,\" is no directive"}},
        Refusal{{"--output-filename", ":nocopy", "p"}, {"path is empty"}},
        Refusal{{"--output-filename", "d/{rnk}", "p"}, {"--output-filename: ", "rnk", "rank"}},
        Refusal{{"--keep-logs", "2", "p"}, {"--keep-logs", "--output-filename DIR"}},
        Refusal{{"--keep-logs", "2", "--output-filename", "d/{rank}", "p"}, {"--keep-logs", "template"}},
        Refusal{{"--keep-logs", "-1", "--output-filename", "d", "p"}, {"--keep-logs"}},
        Refusal{{"--output-filename", "d/{rank}:nojobid", "p"}, {"--output-filename", "nojobid does nothing"}},
        Refusal{{"--label={rnk}", "p"}, {"--label: ", "rnk", "rank"}},
        Refusal{{"--wdir", "", "p"}, {"--wdir: the path is empty"}},
        Refusal{{"--report=", "p"}, {"--report: the path is empty"}},
        Refusal{{"--tag-output=maybe", "p"}, {"--tag-output: \"maybe\" is neither true nor false"}},
        Refusal{{"--pty=", "p"}, {"--pty: \"\" is neither true nor false"}},
        Refusal{{"--pty={}", "p"}, {"--pty: \"{}\" is neither true nor false"}},
        Refusal{{"--label={}", "p"}, {"--label: "}}, Refusal{{"-vvv", "p"}, {"did you mean -vv?"}},
        Refusal{{"--nooversubscribe=true", "p"}, {"--nooversubscribe: takes no value"}},
        Refusal{{"-v=2", "p"}, {"-v: takes no value"}}, Refusal{{"--help=x"}, {"--help: takes no value"}}));

INSTANTIATE_TEST_SUITE_P(
    Useless, Refused,
    testing::Values(Refusal{{"--raw", "--label", "p"}, {"--raw: does not go with --label", "no lines"}},
                    Refusal{{"--raw", "-tag-output", "p"}, {"--raw", "-tag-output"}},
                    Refusal{{"--label", "--tag-output", "p"}, {"--label", "--tag-output", "how a line begins"}},
                    Refusal{{"--label", "--timestamp-output", "p"}, {"--timestamp-output"}},
                    Refusal{{"--label", "--format", "jsonl", "p"}, {"--format jsonl", "--label"}},
                    Refusal{{"--raw", "--format", "jsonl", "p"}, {"--raw", "--format jsonl"}},
                    Refusal{{"--raw", "--color", "always", "p"}, {"--color always"}},
                    Refusal{{"--dry-run", "--format", "jsonl", "p"}, {"--format jsonl", "--dry-run"}},
                    Refusal{{"--format", "json", "p"}, {"--format json: would do nothing", "--dry-run", "jsonl"}},
                    Refusal{{"--dry-run", "--show-env", "0", "p"}, {"--dry-run", "--show-env"}},
                    Refusal{{"--color", "always", "p"}, {"--color always: would do nothing", "--label"}},
                    Refusal{{"--pty", "--merge-stderr-to-stdout", "p"}, {"does not go with --merge-stderr-to-stdout"}},
                    Refusal{{"--transport", "ssh", "--exec", "x", "p"}, {"--transport ssh: does not go with --exec"}},
                    Refusal{{"--host-key", "off", "--exec", "x", "p"}, {"--host-key: does not go with --exec"}},
                    Refusal{{"--transport", "exec", "p"}, {"--transport exec: no command is named", "add --exec"}},
                    Refusal{{"--transport", "rsh", "p"}, {"rsh", "ssh"}},
                    Refusal{{"--dry-run", "--show-config", "p"}, {"does not go with --show-config"}},
                    Refusal{{"--map-by", "socket", "p"}, {"--map-by socket: would do nothing", "--bind-to"}},
                    Refusal{{"--bind-to", "none", "--rank-by", "core", "p"}, {"--rank-by core", "--bind-to"}},
                    Refusal{{"--include", "a", "--exclude", "b", "p"}, {"--include", "--exclude"}},
                    Refusal{{"-N", "2", "--map-by", "seq", "p"}, {"-N", "--map-by seq", "where ranks go"}},
                    Refusal{{"-N", "2", "--map-by", "ppr:2:node", "p"}, {"-N", "ppr:2:node"}},
                    Refusal{{"a", ":", "--timeout", "3", "p"}, {"--timeout", "holds for the whole job"}},
                    Refusal{{"a", ":", "-H", "b", "p"}, {"a: has no -H", "another program has"}},
                    Refusal{{"-H", "a", "a", ":", "-H", "-b", "p"}, {"-H", "invalid host name"}},
                    Refusal{{"--ranks", "0", "--output-filename", "d:nocopy", "p"}, {"--ranks", ":nocopy"}}));

TEST(Errors, NeverHoldAVariablesValue) {
  CommandLineFixture fixture;
  fixture.files["/cwd/e"] = "A=1\nexport B=hunter2\n";
  fixture.files["/cwd/e2"] = "hunter2\n";
  fixture.files["/cwd/apps"] = "-x P*=hunter2 prog";
  for (const Words& args : {Words{"-x", "=hunter2", "p"}, Words{"-x", "A*=hunter2", "p"}, Words{"-xA=hunter2", "p"},
                            Words{"--env-file", "e", "p"}, Words{"--env-file", "e2", "p"}, Words{"--app", "apps"},
                            Words{"--bogus=hunter2", "p"}}) {
    const std::string error = fixture.error(args);
    EXPECT_FALSE(error.empty());
    EXPECT_THAT(error, Not(HasSubstr("hunter2")));
  }
}

TEST(Errors, OfVariablesSayWhatToWrite) {
  EXPECT_THAT(CommandLineFixture{}.error({"-x", "A,B", "p"}), HasSubstr("one -x for each"));
  EXPECT_THAT(CommandLineFixture{}.error({"-x", "A*B", "p"}), HasSubstr("'PREFIX_*'"));
  EXPECT_THAT(CommandLineFixture{}.error({"-x", "", "p"}), HasSubstr("no name"));
}

TEST(Errors, OfHostfilesAndRankfilesNameThePlace) {
  CommandLineFixture fixture;
  fixture.files["/cwd/h"] = "a slots=2\nb slot=3\n";
  EXPECT_THAT(fixture.error({"--hostfile", "h", "p"}), HasSubstr("dlaunch: h:2:3: unknown key \"slot\""));
  fixture.files["/cwd/h"] = "# nobody\n";
  EXPECT_THAT(fixture.error({"--hostfile", "h", "p"}), HasSubstr("h: names no host"));
  fixture.files["/cwd/r"] = "rank 0 a\n";
  EXPECT_THAT(fixture.error({"--rankfile", "r", "p"}), HasSubstr("r:1:6: invalid line"));
  fixture.files["/cwd/r"] = "rank 0=a\n";
  EXPECT_THAT(fixture.error({"--rankfile", "r", "--map-by", "node", "p"}), HasSubstr("--rankfile: does not go with"));
  EXPECT_THAT(fixture.error({"--rankfile", "r", "-N", "1", "p"}), HasSubstr("--rankfile: does not go with"));
}

TEST(Errors, OfEnvFilesNameTheLine) {
  CommandLineFixture fixture;
  fixture.files["/cwd/e"] = "A=1\n\nnot a line\n";
  EXPECT_THAT(fixture.error({"--env-file", "e", "p"}), HasSubstr("e:3: not a NAME=VALUE line"));
  fixture.files["/cwd/e"] = "=1\n";
  EXPECT_THAT(fixture.error({"--env-file", "e", "p"}), HasSubstr("e:1: "));
  fixture.files["/cwd/e"] = "export A=1\n";
  EXPECT_THAT(fixture.error({"--env-file", "e", "p"}), HasSubstr("without \"export\""));
  fixture.files["/cwd/e"] = std::string("A=\0", 3);
  EXPECT_THAT(fixture.error({"--env-file", "e", "p"}), HasSubstr("NUL"));
  EXPECT_THAT(fixture.error({"--env-file", "missing", "p"}), HasSubstr("/cwd/missing: cannot read the file"));
}

TEST(Errors, ARelativePathNeedsADirectory) {
  CommandLineFixture fixture;
  fixture.cwd = "";
  EXPECT_THAT(fixture.error({"--wdir", "d", "p"}), HasSubstr("working directory is gone"));
  EXPECT_EQ(fixture.options({"--wdir", "/d", "p"}).request.apps.front().wdir, "/d");
}

}  // namespace
}  // namespace dlaunch::cli
