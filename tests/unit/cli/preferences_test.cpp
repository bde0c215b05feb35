// Defaults from the configuration file and DLAUNCH_* variables, their precedence, and the output of --show-config.
#include <nlohmann/json.hpp>

#include "command_line_fixture.h"
#include "output/label.h"

namespace dlaunch::cli {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kStandardFile = "/home/u/.config/dlaunch/config.toml";

CommandLineFixture with_config(const std::string& text) {
  CommandLineFixture fixture;
  fixture.files[kStandardFile] = text;
  return fixture;
}

TEST(Preferences, HeartbeatAndPauseLimitHaveDefaultsAndSources) {
  const Options defaults = CommandLineFixture{}.options({"p"});
  EXPECT_EQ(defaults.heartbeat, milliseconds(5000));
  EXPECT_EQ(defaults.pause_limit, milliseconds(600'000));
  CommandLineFixture fixture = with_config("heartbeat = 60\npause-limit = \"7d\"\n");
  EXPECT_EQ(fixture.options({"p"}).heartbeat, milliseconds(60'000));
  EXPECT_EQ(fixture.options({"p"}).pause_limit, std::chrono::hours(7 * 24));
  EXPECT_EQ(fixture.options({"--heartbeat", "2", "p"}).heartbeat, milliseconds(2000));
  EXPECT_EQ(fixture.options({"--pause-limit", "10s", "p"}).pause_limit, milliseconds(10'000));
}

TEST(Preferences, PrecedenceIsCommandLineThenVariableThenFile) {
  CommandLineFixture fixture = with_config("grace = 1\non-failure = \"continue\"\n");
  EXPECT_EQ(fixture.options({"p"}).policy.grace, milliseconds(1000));
  fixture.environment.push_back("DLAUNCH_GRACE=2");
  EXPECT_EQ(fixture.options({"p"}).policy.grace, milliseconds(2000));
  EXPECT_EQ(fixture.options({"--grace", "3", "p"}).policy.grace, milliseconds(3000));
  EXPECT_FALSE(fixture.options({"p"}).policy.abort_on_failure);
}

TEST(Preferences, FlagsMayBeFalse) {
  CommandLineFixture fixture = with_config("oversubscribe = true\nlabel = true\nverbose = 2\n");
  EXPECT_TRUE(fixture.options({"p"}).request.oversubscribe);
  EXPECT_EQ(fixture.options({"p"}).output.label, output::kDefaultLabel);
  EXPECT_EQ(fixture.options({"p"}).verbosity, 2);
  EXPECT_EQ(fixture.options({"-v", "p"}).verbosity, 1);
  EXPECT_FALSE(fixture.options({"--nooversubscribe", "p"}).request.oversubscribe);
  fixture.environment = {"HOME=/home/u", "DLAUNCH_OVERSUBSCRIBE=no", "DLAUNCH_LABEL=false"};
  EXPECT_FALSE(fixture.options({"p"}).request.oversubscribe);
  EXPECT_EQ(fixture.options({"p"}).output.label, std::nullopt);
}

TEST(Preferences, TheCommandLineChangesTheLevelOfFold) {
  const CommandLineFixture fixture = with_config("fold = \"off\"\n");
  EXPECT_EQ(fixture.options({"p"}).output.fold, output::Fold::off);
  EXPECT_EQ(fixture.options({"--fold", "p"}).output.fold, output::Fold::own);
  const CommandLineFixture numbers = with_config("fold = \"numbers\"\n");
  EXPECT_EQ(numbers.options({"--raw", "p"}).output.fold, std::nullopt);
}

TEST(Preferences, ReadsTheFileAsToml) {
  const CommandLineFixture fixture = with_config(
      "# comment\r\n"
      "  grace = 2.5  # seconds\r\n"
      "label = \"#{rank}, \\\"{host}\\\"\\t\" # not this\n"
      "color = 'never'\n"
      "pty=true\n");
  const Options options = fixture.options({"p"});
  EXPECT_EQ(options.policy.grace, milliseconds(2500));
  EXPECT_EQ(options.output.label, "#{rank}, \"{host}\"\t");
  EXPECT_EQ(options.output.color, output::Color::never);
  EXPECT_TRUE(options.output.pty);
}

TEST(Preferences, AcceptsUnquotedWordsAndNumbers) {
  const Options options = with_config("color = never # c\nverbose = 01\non-failure = continue").options({"p"});
  EXPECT_EQ(options.output.color, output::Color::never);
  EXPECT_EQ(options.verbosity, 1);
  EXPECT_FALSE(options.policy.abort_on_failure);
}

TEST(Preferences, AcceptsTimesWithoutQuotes) {
  const Options options =
      with_config("timeout = 00:05:00  # five minutes\ngrace = 1:00:00\nhang-after = 100:00:00").options({"p"});
  EXPECT_EQ(options.policy.timeout, std::chrono::minutes(5));
  EXPECT_EQ(options.policy.grace, std::chrono::hours(1));
  EXPECT_EQ(options.policy.hang_after, std::chrono::hours(100));
}

struct BadConfig {
  std::string text;
  std::string where;
  std::string what;
};

void PrintTo(const BadConfig& config, std::ostream* out) { print_words({config.text}, *out); }

class BadConfigFile : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigFile, ErrorHasTheLine) {
  const std::string error = with_config(GetParam().text).error({"p"});
  EXPECT_THAT(error, HasSubstr(std::string(kStandardFile) + ":" + GetParam().where));
  EXPECT_THAT(error, HasSubstr(GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadConfigFile,
    testing::Values(
        BadConfig{"\ngrac = 1", "2: ", "use grace"}, BadConfig{"x", "1: ", "invalid line: expected name = value"},
        BadConfig{"[output]", "1: ", "tables"}, BadConfig{"dry-run = true", "1: ", "not supported: key "},
        BadConfig{"n = 4", "1: ", "not supported: key "}, BadConfig{"n = 4", "1: ", "write -n on the command line"},
        BadConfig{"output-filename = 'd'", "1: ", "write --output-filename on the command line"},
        BadConfig{"v = 1", "1: ", "use verbose"}, BadConfig{"grace = ", "1: ", "invalid value: expected"},
        BadConfig{"grace = 1 2", "1: ", "invalid value: expected"},
        BadConfig{"label = \"x", "1: ", "missing closing quote"},
        BadConfig{"label = \"x\" y", "1: ", "after the value"}, BadConfig{"label = \"\\q\"", "1: ", "escape"},
        BadConfig{"pty = maybe", "1: ", "invalid value \"maybe\": expected true or false"},
        BadConfig{"grace = 1\ngrace = 2", "2: ", "duplicate key \"grace\""},
        BadConfig{"\n\ngrace = soon", "3: grace", "invalid duration \"soon\""},
        BadConfig{"= 1", "1: ", "missing key before ="}, BadConfig{"grace = 1 2", "1: ", "at column 11"},
        BadConfig{"label = \"[%r]\"", "1: ", "use {rank}"}, BadConfig{"grace = [1]", "1: ", "invalid value: expected"},
        BadConfig{"pty.x = 1", "1: ", "tables"}, BadConfig{"color = never\ngrac = 1", "2: ", "use grace"},
        BadConfig{"label = \"\xff\"", "1: ", "UTF-8"}));

TEST(Preferences, FindsTheFileByXdgHomeOptionOrVariable) {
  CommandLineFixture fixture;
  fixture.files["/xdg/dlaunch/config.toml"] = "grace = 1";
  fixture.files["/cwd/mine"] = "grace = 2";
  fixture.files["/abs"] = "grace = 3";
  EXPECT_EQ(fixture.options({"p"}).policy.grace, milliseconds(5000));
  fixture.environment = {"HOME=/home/u", "XDG_CONFIG_HOME=/xdg"};
  EXPECT_EQ(fixture.options({"p"}).policy.grace, milliseconds(1000));
  EXPECT_EQ(fixture.options({"--config", "mine", "p"}).policy.grace, milliseconds(2000));
  fixture.environment.push_back("DLAUNCH_CONFIG=/abs");
  EXPECT_EQ(fixture.options({"p"}).policy.grace, milliseconds(3000));
  EXPECT_EQ(fixture.options({"--config", "mine", "p"}).policy.grace, milliseconds(2000));
  fixture.environment = {"XDG_CONFIG_HOME=relative"};
  EXPECT_EQ(fixture.options({"p"}).policy.grace, milliseconds(5000));
}

TEST(Preferences, ExplicitFileMustExist) {
  EXPECT_THAT(CommandLineFixture{}.error({"--config", "none", "p"}), HasSubstr("cannot read /cwd/none"));
  CommandLineFixture fixture;
  fixture.environment = {"DLAUNCH_CONFIG=/none"};
  EXPECT_THAT(fixture.error({"p"}), HasSubstr("cannot read /none"));
}

TEST(Preferences, IgnoresIdentityVariablesOfRanks) {
  CommandLineFixture fixture;
  for (const char* name : {"RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "NODE_RANK", "NUM_NODES", "HOST", "DEVICE",
                           "JOB_ID", "WORLD", "ROUND", "ATTEMPT"}) {
    fixture.environment.push_back(std::string("DLAUNCH_") + name + "=7");
  }
  EXPECT_EQ(fixture.options({"p"}).verbosity, 0);
  EXPECT_THAT(fixture.options({"p"}).notes, IsEmpty());
  EXPECT_THAT(fixture.text({"--show-config"}), Not(HasSubstr("ignored")));
}

TEST(Preferences, AttemptMustBeANumber) {
  CommandLineFixture fixture;
  fixture.environment = {"DLAUNCH_ATTEMPT="};
  EXPECT_THAT(fixture.options({"p"}).notes, IsEmpty());
  fixture.environment = {"DLAUNCH_ATTEMPT=x"};
  EXPECT_THAT(fixture.error({"p"}), HasSubstr("DLAUNCH_ATTEMPT: invalid attempt number: expected 0"));
}

TEST(Preferences, ReportsAndListsUnknownVariables) {
  CommandLineFixture fixture;
  fixture.environment = {"DLAUNCH_FOO=hunter2", "DLAUNCH_DRY_RNU=1",    "DLAUNCH_GRACE=",  "DLAUNCH_grace=1x",
                         "DLAUNCH_GRCE=4",      "DLAUNCH_MACHINEFILE=", "DLAUNCH_ON_FAIL="};
  const Options options = fixture.options({"p"});
  EXPECT_FALSE(options.dry_run);
  EXPECT_EQ(options.policy.grace, milliseconds(5000));
  EXPECT_THAT(options.notes, ElementsAre("DLAUNCH_FOO has no effect: unknown option",
                                         "DLAUNCH_DRY_RNU has no effect: unknown option; use DLAUNCH_DRY_RUN",
                                         "DLAUNCH_grace has no effect: use DLAUNCH_GRACE",
                                         "DLAUNCH_GRCE has no effect: unknown option; use DLAUNCH_GRACE",
                                         "DLAUNCH_MACHINEFILE has no effect: use DLAUNCH_HOSTFILE",
                                         "DLAUNCH_ON_FAIL has no effect: unknown option"));
  const std::string text = fixture.text({"--show-config"});
  EXPECT_THAT(text, AllOf(HasSubstr("unknown variable \"DLAUNCH_FOO\""),
                          HasSubstr("unknown variable \"DLAUNCH_DRY_RNU\""), Not(HasSubstr("hunter2"))));
}

TEST(Preferences, DryRunVariableAppliesToEveryLauncher) {
  for (const char* name : {"dlaunch", "mpirun", "mpiexec.hydra"}) {
    CommandLineFixture fixture;
    fixture.program_name = name;
    fixture.environment = {"DLAUNCH_DRY_RUN=1", "DLAUNCH_FORMAT=json", "DLAUNCH_FAKE_DEVICES=8",
                           "DLAUNCH_OVERSUBSCRIBE=1"};
    const Options options = fixture.options({"-n", "9", "p"});
    EXPECT_TRUE(options.dry_run) << name;
    EXPECT_EQ(options.format, Format::json);
    EXPECT_EQ(options.hosts.fake_devices, 8);
    EXPECT_TRUE(options.request.oversubscribe);
    EXPECT_THAT(options.notes, IsEmpty());
    EXPECT_TRUE(fixture.options({"--format", "jsonl", "p"}).dry_run) << name;
  }
  CommandLineFixture fixture;
  fixture.environment = {"HOME=/home/u", "DLAUNCH_FORMAT=json"};
  EXPECT_FALSE(fixture.options({"p"}).dry_run);
  fixture.files = {{"/home/u/.config/dlaunch/config.toml", "dry-run = true\n"}};
  EXPECT_THAT(fixture.error({"p"}), HasSubstr("not supported: key \"dry-run\""));
}

TEST(Preferences, ErrorHasTheVariableName) {
  CommandLineFixture fixture;
  fixture.environment = {"DLAUNCH_GRACE=x"};
  EXPECT_THAT(fixture.error({"p"}), HasSubstr("DLAUNCH_GRACE: invalid duration \"x\""));
  fixture.environment = {"DLAUNCH_PTY=x"};
  EXPECT_THAT(fixture.error({"p"}), HasSubstr("DLAUNCH_PTY: invalid value \"x\": expected true or false"));
}

TEST(Preferences, NoColorAppliesUnlessColorIsSet) {
  CommandLineFixture fixture;
  fixture.environment = {"NO_COLOR=1"};
  EXPECT_EQ(fixture.options({"p"}).output.color, output::Color::never);
  EXPECT_EQ(fixture.options({"--color", "auto", "p"}).output.color, output::Color::automatic);
  EXPECT_THAT(fixture.text({"--show-config"}), ContainsRegex("color +never +NO_COLOR"));
  fixture.environment.push_back("DLAUNCH_COLOR=always");
  EXPECT_EQ(fixture.options({"p"}).output.color, output::Color::always);
  fixture.environment = {"NO_COLOR="};
  EXPECT_EQ(fixture.options({"p"}).output.color, output::Color::automatic);
}

TEST(Preferences, VariablesOfLaunchersOverrideTheFile) {
  CommandLineFixture fixture = with_config("timeout = 1\ncolor = \"always\"\ndefault-hostfile = \"/file\"\n");
  fixture.files["/file"] = "a\n";
  fixture.files["/variable"] = "a\nb\n";
  fixture.environment.insert(fixture.environment.end(),
                             {"MPIEXEC_TIMEOUT=9", "NO_COLOR=1", "HYDRA_HOST_FILE=/variable"});
  EXPECT_EQ(fixture.options({"p"}).policy.timeout, std::chrono::seconds(9));
  EXPECT_EQ(fixture.options({"p"}).output.color, output::Color::always) << "as no-color.org requires";
  EXPECT_EQ(fixture.options({"p"}).hosts.default_hostfile.size(), 1U);
  EXPECT_EQ(fixture.options({"--as", "hydra", "p"}).hosts.default_hostfile.size(), 2U);
  fixture.environment.emplace_back("DLAUNCH_TIMEOUT=3");
  EXPECT_EQ(fixture.options({"p"}).policy.timeout, std::chrono::seconds(3));
}

TEST(Preferences, UnusedDefaultHostfileMayBeMissing) {
  CommandLineFixture fixture;
  fixture.files["/hosts"] = "a\n";
  fixture.files["/wrong"] = "a slots=x\n";
  for (const char* file : {"/none", "/wrong"}) {
    EXPECT_EQ(fixture.options({"--default-hostfile", file, "-H", "a", "p"}).hosts.list.size(), 1U);
    EXPECT_EQ(fixture.options({"--default-hostfile", file, "--hostfile", "/hosts", "p"}).hosts.hostfile.size(), 1U);
    EXPECT_THAT(fixture.error({"--default-hostfile", file, "p"}), HasSubstr(file));
  }
  fixture.environment = {"SLURM_JOB_ID=5", "SLURM_JOB_NODELIST=n1"};
  EXPECT_THAT(fixture.options({"--default-hostfile", "/none", "p"}).hosts.default_hostfile, testing::IsEmpty());
  EXPECT_THAT(fixture.error({"--default-hostfile", "/none", "--ignore-resource-manager", "p"}), HasSubstr("/none"));
}

TEST(Preferences, CommandLineOverridesConflictingPreferences) {
  CommandLineFixture fixture = with_config("label = true\nmap-by = \"socket\"\n");
  EXPECT_EQ(fixture.options({"--raw", "p"}).output.label, std::nullopt);
  EXPECT_TRUE(fixture.options({"--tag-output", "p"}).output.tag);
  EXPECT_EQ(fixture.options({"--tag-output", "p"}).output.label, std::nullopt);
  fixture.environment.push_back("DLAUNCH_RAW=true");
  EXPECT_EQ(fixture.options({"p"}).output.mode, output::Mode::raw);
  EXPECT_THAT(with_config("label = true\nraw = true").error({"p"}),
              AllOf(HasSubstr("config.toml:1"), HasSubstr("config.toml:2")));
}

TEST(Preferences, CommandLineTurnsFlagsOff) {
  CommandLineFixture fixture = with_config("label = true\npty = true\n");
  fixture.environment.emplace_back("DLAUNCH_OVERSUBSCRIBE=1");
  const Options on = fixture.options({"--label=true", "--pty=true", "p"});
  EXPECT_EQ(on.output.label, output::kDefaultLabel);
  EXPECT_TRUE(on.output.pty);
  const Options off = fixture.options({"--label=false", "--pty=false", "--oversubscribe=false", "p"});
  EXPECT_EQ(off.output.label, std::nullopt);
  EXPECT_FALSE(off.output.pty);
  EXPECT_FALSE(off.request.oversubscribe);
}

TEST(ShowConfig, PrintsTheSourceOfEachValue) {
  CommandLineFixture fixture = with_config("grace = 1\ntimeout = 60");
  fixture.environment.push_back("DLAUNCH_ON_FAILURE=continue");
  const std::string text = fixture.text({"--show-config", "-x", "SECRET=hunter2", "--label", "--timeout", "9", "p"});
  EXPECT_THAT(text, AllOf(HasSubstr(std::string("config file: ") + kStandardFile),
                          ContainsRegex("grace +1 +/home/u/.config/dlaunch/config.toml:1\n"),
                          ContainsRegex("timeout +9 +command line\n"),
                          ContainsRegex("on-failure +continue +DLAUNCH_ON_FAILURE\n"),
                          ContainsRegex("label +\\[\\{rank\\}\\] +command line\n"),
                          ContainsRegex("bind-to +none +default\n"), Not(HasSubstr("hunter2"))));
}

TEST(ShowConfig, PrintsJson) {
  CommandLineFixture fixture = with_config("grace = 1");
  fixture.environment.push_back("DLAUNCH_X_Y=1");
  const auto json = nlohmann::json::parse(fixture.text({"--show-config", "--format", "json", "--label=\xff"}));
  EXPECT_EQ(json["config_file"], kStandardFile);
  EXPECT_EQ(json["ignored"], nlohmann::json::array({"DLAUNCH_X_Y"}));
  int found = 0;
  for (const auto& row : json["options"]) {
    if (row["name"] != "grace") continue;
    ++found;
    EXPECT_EQ(row["value"], "1");
    EXPECT_EQ(row["from"], std::string(kStandardFile) + ":1");
  }
  EXPECT_EQ(found, 1);
}

TEST(ShowConfig, RejectsAnInvalidCommandLine) {
  EXPECT_THAT(CommandLineFixture{}.error({"--show-config", "--grace", "x"}), HasSubstr("--grace"));
  EXPECT_THAT(CommandLineFixture{}.error({"--show-config", "--format", "jsonl"}), HasSubstr("--show-config"));
}

}  // namespace
}  // namespace dlaunch::cli
