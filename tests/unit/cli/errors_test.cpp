// Rejected command lines: the error has the option or file, the reason and a remedy.
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

TEST_P(Refused, HasMessage) {
  const std::string error = CommandLineFixture{}.error(GetParam().args);
  EXPECT_THAT(error, testing::StartsWith("dlaunch: ")) << testing::PrintToString(GetParam().args);
  for (const std::string& word : GetParam().words) EXPECT_THAT(error, HasSubstr(word));
}

INSTANTIATE_TEST_SUITE_P(
    Names, Refused,
    testing::Values(Refusal{{"--on-failur", "abort", "p"}, {"unknown option \"--on-failur\"", "use --on-failure"}},
                    Refusal{{"--hostfle", "h", "p"}, {"unknown option \"--hostfle\"", "use --hostfile"}},
                    Refusal{{"-oversubscrib", "p"}, {"use --oversubscribe"}},
                    Refusal{{"--nooversubscrbe", "p"}, {"use --nooversubscribe"}},
                    Refusal{{"--np4", "p"}, {"unknown option \"--np4\"", "write --np 4"}},
                    Refusal{{"-n4x", "p"}, {"unknown option \"-n4x\""}},
                    Refusal{{"-z", "p"}, {"unknown option \"-z\"", "--help"}},
                    Refusal{{"-", "p"}, {"unknown option \"-\""}}, Refusal{{"---", "p"}, {"unknown option \"---\""}},
                    Refusal{{"--=x", "p"}, {"unknown option \"--\""}},
                    Refusal{{"--completely-else", "p"}, {"unknown option", "run dlaunch --help"}}));

INSTANTIATE_TEST_SUITE_P(
    NotYet, Refused,
    testing::Values(Refusal{{"-mca", "a"}, {"missing value of -mca: expected KEY VALUE"}},
                    Refusal{{"-mca", "a=b", "c", "p"}, {"-mca: invalid value: expected two words: KEY VALUE"}},
                    Refusal{{"-genv=A", "b", "p"}, {"-genv: invalid value: expected two words: NAME VALUE"}}));

INSTANTIATE_TEST_SUITE_P(
    Values, Refused,
    testing::Values(
        Refusal{{"-n"}, {"missing value of -n: expected N"}},
        Refusal{{"-np", "abc", "p"}, {"-np: invalid number \"abc\": expected 1 to 1048576"}},
        Refusal{{"-n", "0", "p"}, {"\"0\""}}, Refusal{{"-n", "-1", "p"}, {"\"-1\""}},
        Refusal{{"-n", "4x", "p"}, {"\"4x\""}}, Refusal{{"-n", " 4", "p"}, {"\" 4\""}},
        Refusal{{"-n", "99999999999999999999", "p"}, {"-n", "9999"}},
        Refusal{{"-n=", "p"}, {"-n: invalid number \"\""}},
        Refusal{{"--nodes", "100001", "p"}, {"--nodes: invalid number \"100001\": expected 1 to 100000"}},
        Refusal{{"--nodes", "2:100001", "p"}, {"--nodes: invalid number \"100001\": expected 1 to 100000"}},
        Refusal{{"--node-rank", "100000", "p"}, {"--node-rank: invalid number \"100000\": expected 0 to 99999"}},
        Refusal{{"--fake-devices", "-1", "p"}, {"--fake-devices", "\"-1\""}},
        Refusal{{"--port", "0", "p"}, {"--port: invalid port \"0\": expected 5000 or 5000-5010"}},
        Refusal{{"--port", "5001-5000", "p"}, {"--port: invalid port \"5001-5000\"", "65535"}},
        Refusal{{"--port", "70000", "p"}, {"--port: invalid port \"70000\"", "65535"}},
        Refusal{{"--grace", "soon", "p"}, {"--grace: invalid duration \"soon\": expected ", "1h30m"}},
        Refusal{{"--grace", "-1", "p"}, {"\"-1\""}}, Refusal{{"--grace", "inf", "p"}, {"\"inf\""}},
        Refusal{{"--grace", "nan", "p"}, {"\"nan\""}}, Refusal{{"--timeout", "1e3", "p"}, {"\"1e3\""}},
        Refusal{{"--timeout", "", "p"}, {"--timeout"}}, Refusal{{"--grace", "1e10", "p"}, {"--grace"}},
        Refusal{{"--heartbeat", "1.9", "p"}, {"--heartbeat: invalid duration \"1.9\": expected 2 s to 60 s"}},
        Refusal{{"--heartbeat", "61", "p"}, {"--heartbeat: invalid duration \"61\": expected 2 s to 60 s"}},
        Refusal{{"--heartbeat", "often", "p"}, {"--heartbeat: invalid duration \"often\": expected ", "1h30m"}},
        Refusal{{"--pause-limit", "9", "p"}, {"--pause-limit: invalid duration \"9\": expected 10 s to 7 days"}},
        Refusal{{"--pause-limit", "8d", "p"}, {"--pause-limit: invalid duration \"8d\": expected 10 s to 7 days"}},
        Refusal{{"--pause-limit"}, {"missing value of --pause-limit: expected TIME"}},
        Refusal{{"--stdin", "some", "p"}, {"--stdin: invalid reader \"some\": expected none, all or a rank"}},
        Refusal{{"--ranks", "3-1", "p"}, {"--ranks: invalid list of ranks \"3-1\"", "0,3-5"}},
        Refusal{{"--ranks", "", "p"}, {"--ranks"}},
        Refusal{{"--show-env", "x", "p"}, {"--show-env: invalid number \"x\""}},
        Refusal{{"--bind-to", "l3cache", "p"},
                {"--bind-to: invalid value \"l3cache\"", "none, core, hwthread, socket, numa"}},
        Refusal{{"--map-by", "ppr:2:socket", "p"}, {"--map-by: invalid value \"ppr:2:socket\"", "ppr:N:node"}},
        Refusal{{"--map-by", "ppr:0:node", "p"}, {"--map-by: invalid number \"0\""}},
        Refusal{{"--map-by", "dist", "p"}, {"--map-by: invalid value \"dist\"", "slot, core", "ppr:N:node"}},
        Refusal{{"-H", "", "p"}, {"-H: missing host"}},
        Refusal{{"--host=a:x", "p"}, {"--host: invalid number of slots \"a:x\""}},
        Refusal{{"-H", "-oX", "p"}, {"-H: invalid host name \"-oX\""}},
        Refusal{{"--hostfile", "none", "p"}, {"cannot read /cwd/none"}},
        Refusal{{"-N", "0", "p"}, {"-N: invalid number \"0\""}},
        Refusal{{"--max-slots", "0", "p"}, {"--max-slots: invalid number \"0\""}},
        Refusal{{"--include=", "p"}, {"--include: missing host"}},
        Refusal{{"--rank-by", "span", "p"}, {"--rank-by", "slot, fill, node"}},
        Refusal{{"--color", "red", "p"}, {"--color: invalid value \"red\": expected auto, always or never"}},
        Refusal{{"--format", "xml", "p"}, {"--format: invalid value \"xml\": expected text, json or jsonl"}},
        Refusal{{"--on-failure", "stop", "p"}, {"--on-failure: invalid value \"stop\": expected abort or continue"}},
        Refusal{{"--on-output-error", "x", "p"}, {"--on-output-error", "abort or continue"}},
        Refusal{{"--output-filename", "d:", "p"},
                {"--output-filename: invalid directive \"\": expected nocopy or nojobid"}},
        Refusal{{"--output-filename", "d:bogus", "p"}, {"invalid directive \"bogus\""}},
        Refusal{{"--output-filename", "d:nocopy,", "p"}, {"invalid directive \"\""}},
        Refusal{{"--output-filename", "d:nocpy:nojobid", "p"}, {"invalid directive \"nocpy\"", "nocopy or nojobid"}},
        Refusal{{"--output-filename", "d::nojobid", "p"}, {"invalid directive \"\""}},
        Refusal{{"--stdout-file", "{rank}:apend", "p"}, {"--stdout-file: invalid suffix \"apend\"", "append, copy or"}},
        Refusal{{"--stdout-file", "{rank}:", "p"}, {"--stdout-file: invalid suffix \"\""}},
        Refusal{{"--stderr-file", "{rank}:nocopy", "p"}, {"--stderr-file: invalid suffix \"nocopy\""}},
        Refusal{{"--stdout-file", "{rank}:apend:local=0", "p"}, {"invalid suffix \"apend\""}},
        Refusal{{"--stdout-file", "o:local=0:local=1", "p"}, {"--stdout-file: duplicate suffix \"local\""}},
        Refusal{{"--output-filename", "{rank}:x", "p"}, {"invalid directive \"x\"", "remove the ':'"}},
        Refusal{{"--output-filename", "{rank}/", "p"}, {"--output-filename: missing file name"}},
        Refusal{{"--stderr-file", "d/", "p"}, {"--stderr-file: missing file name"}},
        Refusal{{"--output-filename", ":nocopy", "p"}, {"missing path"}},
        Refusal{{"--output-filename", "d/{rnk}", "p"}, {"--output-filename: ", "rnk", "rank"}},
        Refusal{{"--keep-logs", "2", "p"}, {"--keep-logs", "--output-filename DIR"}},
        Refusal{{"--keep-logs", "2", "--output-filename", "d/{rank}", "p"},
                {"--keep-logs requires --output-filename DIR: a template"}},
        Refusal{{"--keep-logs", "-1", "--output-filename", "d", "p"}, {"--keep-logs"}},
        Refusal{{"--output-filename", "d/{rank}:nojobid", "p"},
                {"--output-filename: nojobid conflicts with the template"}},
        Refusal{{"--label={rnk}", "p"}, {"--label: ", "rnk", "rank"}},
        Refusal{{"--wdir", "", "p"}, {"--wdir: missing path"}}, Refusal{{"--report=", "p"}, {"--report: missing path"}},
        Refusal{{"--tag-output=maybe", "p"}, {"--tag-output: invalid value \"maybe\": expected true or false"}},
        Refusal{{"--pty=", "p"}, {"--pty: invalid value \"\": expected true or false"}},
        Refusal{{"--pty={}", "p"}, {"--pty: invalid value \"{}\": expected true or false"}},
        Refusal{{"--label={}", "p"}, {"--label: "}}, Refusal{{"-vvv", "p"}, {"use -vv"}},
        Refusal{{"--nooversubscribe=true", "p"}, {"--nooversubscribe: unexpected value"}},
        Refusal{{"-v=2", "p"}, {"-v: unexpected value"}}, Refusal{{"--help=x"}, {"--help: unexpected value"}}));

INSTANTIATE_TEST_SUITE_P(
    Useless, Refused,
    testing::Values(
        Refusal{{"--raw", "--label", "p"}, {"--raw conflicts with --label: raw output is not split into lines"}},
        Refusal{{"--raw", "--fold", "p"}, {"--raw conflicts with --fold"}},
        Refusal{{"--pty", "--fold=own", "p"}, {"--pty conflicts with --fold"}},
        Refusal{{"--format=jsonl", "--fold", "p"}, {"--format jsonl conflicts with --fold"}},
        Refusal{{"--pty", "--console-rate=5", "--output-filename=d", "p"}, {"--pty conflicts with --console-rate"}},
        Refusal{{"--console-rate=5", "p"},
                {"--console-rate requires --output-filename DIR: log files must contain all lines of stdout"}},
        Refusal{{"--console-rate=5", "--stdout-file=o:copy", "p"},
                {"log files must contain all lines of stderr", "--stderr-file FILE:copy"}},
        Refusal{{"--console-rate=5/m", "--output-filename=d", "p"}, {"--console-rate: invalid number \"5/m\""}},
        Refusal{{"--group-output", "--fold", "p"}, {"--group-output conflicts with --fold"}},
        Refusal{{"--fold=all", "p"}, {"--fold: ", "own, exact, numbers"}},
        Refusal{{"--raw", "-tag-output", "p"}, {"--raw", "-tag-output"}},
        Refusal{{"--label", "--tag-output", "p"},
                {"--label conflicts with --tag-output: both set the start of each line"}},
        Refusal{{"--label", "--timestamp-output", "p"}, {"--timestamp-output"}},
        Refusal{{"--label", "--format", "jsonl", "p"}, {"--format jsonl", "--label"}},
        Refusal{{"--raw", "--format", "jsonl", "p"}, {"--raw", "--format jsonl"}},
        Refusal{{"--raw", "--color", "always", "p"}, {"--color always"}},
        Refusal{{"--dry-run", "--format", "jsonl", "p"}, {"--format jsonl", "--dry-run"}},
        Refusal{{"--format", "json", "p"}, {"--format json requires --dry-run", "jsonl"}},
        Refusal{{"--dry-run", "--show-env", "0", "p"}, {"--dry-run", "--show-env"}},
        Refusal{{"--color", "always", "p"}, {"--color always requires --label"}},
        Refusal{{"--pty", "--merge-stderr-to-stdout", "p"}, {"--pty conflicts with --merge-stderr-to-stdout"}},
        Refusal{{"--transport", "ssh", "--exec", "x", "p"}, {"--transport ssh conflicts with --exec"}},
        Refusal{{"--host-key", "off", "--exec", "x", "p"}, {"--host-key conflicts with --exec"}},
        Refusal{{"--transport", "exec", "p"}, {"--transport exec requires --exec", "add --exec"}},
        Refusal{{"--transport", "rsh", "p"}, {"rsh", "ssh"}},
        Refusal{{"--dry-run", "--show-config", "p"}, {"--dry-run conflicts with --show-config"}},
        Refusal{{"--map-by", "socket", "p"}, {"--map-by socket requires --bind-to"}},
        Refusal{{"--bind-to", "none", "--rank-by", "core", "p"}, {"--rank-by core", "--bind-to"}},
        Refusal{{"--include", "a", "--exclude", "b", "p"}, {"--include", "--exclude"}},
        Refusal{{"-N", "2", "--map-by", "seq", "p"}, {"-N conflicts with --map-by seq: both place the ranks"}},
        Refusal{{"-N", "2", "--map-by", "ppr:2:node", "p"}, {"-N", "ppr:2:node"}},
        Refusal{{"a", ":", "--timeout", "3", "p"}, {"--timeout", "applies to the whole job"}},
        Refusal{{"a", ":", "-H", "b", "p"}, {"a: missing -H: another program has -H"}},
        Refusal{{"-H", "a", "a", ":", "-H", "-b", "p"}, {"-H: invalid host name \"-b\""}},
        Refusal{{"--ranks", "0", "--output-filename", "d:nocopy", "p"}, {"--ranks", ":nocopy"}}));

TEST(Errors, OmitValuesOfVariables) {
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

TEST(Errors, OfVariablesHaveAHint) {
  EXPECT_THAT(CommandLineFixture{}.error({"-x", "A,B", "p"}), HasSubstr("one variable per -x"));
  EXPECT_THAT(CommandLineFixture{}.error({"-x", "A*B", "p"}), HasSubstr("'PREFIX_*'"));
  EXPECT_THAT(CommandLineFixture{}.error({"-x", "", "p"}), HasSubstr("missing variable name"));
}

TEST(Errors, OfHostfilesAndRankfilesHaveLineAndColumn) {
  CommandLineFixture fixture;
  fixture.files["/cwd/h"] = "a slots=2\nb slot=3\n";
  EXPECT_THAT(fixture.error({"--hostfile", "h", "p"}), HasSubstr("dlaunch: h:2:3: unknown key \"slot\""));
  fixture.files["/cwd/h"] = "# nobody\n";
  EXPECT_THAT(fixture.error({"--hostfile", "h", "p"}), HasSubstr("h: missing host"));
  fixture.files["/cwd/r"] = "rank 0 a\n";
  EXPECT_THAT(fixture.error({"--rankfile", "r", "p"}), HasSubstr("r:1:6: invalid line: expected rank 0=node1"));
  fixture.files["/cwd/r"] = "rank 0=a\n";
  EXPECT_THAT(fixture.error({"--rankfile", "r", "--map-by", "node", "p"}), HasSubstr("--rankfile conflicts with"));
  EXPECT_THAT(fixture.error({"--rankfile", "r", "-N", "1", "p"}), HasSubstr("--rankfile conflicts with"));
}

TEST(Errors, OfEnvFilesHaveTheLine) {
  CommandLineFixture fixture;
  fixture.files["/cwd/e"] = "A=1\n\nnot a line\n";
  EXPECT_THAT(fixture.error({"--env-file", "e", "p"}), HasSubstr("e:3: invalid line: expected NAME=VALUE"));
  fixture.files["/cwd/e"] = "=1\n";
  EXPECT_THAT(fixture.error({"--env-file", "e", "p"}), HasSubstr("e:1: "));
  fixture.files["/cwd/e"] = "export A=1\n";
  EXPECT_THAT(fixture.error({"--env-file", "e", "p"}), HasSubstr("without \"export\""));
  fixture.files["/cwd/e"] = std::string("A=\0", 3);
  EXPECT_THAT(fixture.error({"--env-file", "e", "p"}), HasSubstr("NUL"));
  EXPECT_THAT(fixture.error({"--env-file", "missing", "p"}), HasSubstr("cannot read /cwd/missing"));
}

TEST(Errors, RelativePathRequiresAWorkingDirectory) {
  CommandLineFixture fixture;
  fixture.cwd = "";
  EXPECT_THAT(fixture.error({"--wdir", "d", "p"}), HasSubstr("working directory was removed"));
  EXPECT_EQ(fixture.options({"--wdir", "/d", "p"}).request.apps.front().wdir, "/d");
}

}  // namespace
}  // namespace dlaunch::cli
