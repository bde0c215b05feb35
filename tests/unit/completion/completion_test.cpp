#include "completion/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cli/grammar.h"
#include "cli/option_spec.h"
#include "cli/subcommands.h"
#include "grammars/launchers.h"

namespace dlaunch::completion {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

/// A line whose last word is at the cursor.
struct Line {
  Words words;
  std::map<std::string, std::string> files = {{"/cwd/hosts", "alpha slots=2\nbeta\nalpha slots=1\nu@gamma\n"}};
  Words environment = {"HOME=/home/u"};

  Completion complete() const {
    cli::ChaosRun chaos;
    cli::StacksCommand stacks;
    const auto read = [this](const std::string& path,
                             const cli::ReadLimit&) -> tl::expected<std::string, cli::Unreadable> {
      const auto found = files.find(path);
      if (found != files.end()) return found->second;
      return tl::unexpected(cli::Unreadable{.error = {"", "cannot read " + path, "", ""}, .missing = true});
    };
    return completion::complete(words, {.context = {.environment = environment, .cwd = "/cwd", .read_file = read},
                                        .commands = {cli::chaos_command(chaos), cli::stacks_command(stacks)},
                                        .jobs = [] { return Words{"c14bb0055c156b25", "d2"}; }});
  }
};

Words candidates(const Line& line) {
  Words words;
  for (const Candidate& each : line.complete().candidates) words.push_back(each.word);
  return words;
}

/// The last line of to_text().
std::string by_shell(const Line& line) {
  const std::string text = to_text(line.complete());
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

TEST(Completion, ListThatIsTooLongHasNoHosts) {
  std::string file, list;
  for (int i = 0; i < 2000; ++i) {
    file += "node" + std::to_string(i) + '\n';
    list += "node" + std::to_string(i) + ',';
  }
  EXPECT_EQ(candidates({.words = {"--hostfile", "many", "-H", "node1,"}, .files = {{"/cwd/many", file}}}).size(),
            2000U);
  EXPECT_THAT(candidates({.words = {"--hostfile", "many", "-H", list}, .files = {{"/cwd/many", file}}}), IsEmpty());
}

TEST(Completion, FirstWordIsASubcommandOrAProgram) {
  EXPECT_EQ(candidates({{""}}), cli::subcommand_names());
  EXPECT_EQ(by_shell({{""}}), ":\n");
  EXPECT_THAT(candidates({{"st"}}), ElementsAre("stacks"));
  EXPECT_EQ(by_shell({{"st"}}), ":program 1\n");
  EXPECT_THAT(candidates({{"__"}}), IsEmpty());
}

TEST(Completion, ListsEveryLongOption) {
  for (const cli::FoundOption& row : cli::option_names()) {
    const bool listed = row.spec->section != cli::Section::hidden && row.name.size() > 1 && row.name != "vv";
    if (!listed) continue;
    const std::string word = "--" + std::string(row.name);
    EXPECT_THAT(candidates({{word}}), Contains(word));
    EXPECT_THAT(candidates({{word.substr(1)}}), Contains(word.substr(1)));
  }
}

TEST(Completion, ListsCommonOptionsFirst) {
  const Words all = candidates({{"-"}});
  ASSERT_GT(all.size(), 80u);
  EXPECT_EQ(all[0], "-n");
  EXPECT_EQ(all[2], "--as");
  bool common = true;
  for (const std::string& word : all) {
    const cli::OptionSpec& row = *cli::find_option(word.substr(word.find_first_not_of('-'))).spec;
    EXPECT_TRUE(common || !row.common) << word;
    common = row.common;
  }
}

TEST(Completion, DescribesOptions) {
  EXPECT_EQ(to_text(Line{{"--col"}}.complete()), "--color\tcolor labels by rank: auto, always, never\n:\n");
}

TEST(Completion, ListsTheFixedValuesThatTheSetterAccepts) {
  for (const cli::OptionSpec& row : cli::option_table()) {
    if (!row.choices) continue;
    const std::string option = "--" + std::string(row.name());
    const bool attached = row.takes == cli::Arity::maybe_value;
    Words values = candidates({attached ? Words{option + '='} : Words{option, ""}});
    for (std::string& value : values) value = attached ? value.substr(value.find('=') + 1) : value;
    EXPECT_EQ(values, row.choices()) << option;
    for (const std::string& value : values) {
      cli::Options options;
      const std::string number = value == "ppr:N:node" ? "ppr:2:node" : value;
      EXPECT_TRUE(row.set_job(options, number, {}).has_value()) << option << ' ' << value;
    }
  }
  EXPECT_THAT(candidates({{"--cores-per-rank", ""}}), ElementsAre("share"));
  EXPECT_THAT(candidates({{"--nodes", ""}}), IsEmpty());
}

TEST(Completion, CompletesAttachedAndListedValues) {
  EXPECT_THAT(candidates({{"--color=al"}}), ElementsAre("--color=always"));
  EXPECT_THAT(candidates({{"-color=al"}}), ElementsAre("-color=always"));
  EXPECT_THAT(candidates({{"--env-for", "jax,torch"}}), ElementsAre("jax,torch", "jax,torchrun"));
  EXPECT_THAT(candidates({{"--env-for=jax,horo"}}), ElementsAre("--env-for=jax,horovod"));
  EXPECT_THAT(candidates({{"--label=a"}}), IsEmpty());
}

TEST(Completion, LeavesFilesAndProgramsToTheShell) {
  for (const char* option : {"--hostfile", "--report", "--stage", "--stdout-file", "--rank-table", "--config"}) {
    EXPECT_EQ(by_shell({{option, ""}}), ":files\n") << option;
  }
  EXPECT_EQ(by_shell({{"--report=a"}}), ":files\n");
  EXPECT_EQ(by_shell({{"--wdir", "a"}}), ":directories\n");
  EXPECT_EQ(by_shell({{"--label", "a"}}), ":program 2\n");
  EXPECT_EQ(by_shell({{"-n", "4", "--pty", ""}}), ":program 4\n");
  EXPECT_EQ(by_shell({{"-n", "4", "python3", "--", "-"}}), ":program 3\n");
  EXPECT_EQ(by_shell({{"-n", "4", "--", "-"}}), ":program 4\n");
  EXPECT_EQ(by_shell({{"check", "-n", "4", ""}}), ":program 4\n");
  EXPECT_EQ(by_shell({{"hosts", "-n", "4", ""}}), ":\n");
  EXPECT_EQ(by_shell({{"-x", "A=1", "-mca", "key", "value", "a"}}), ":program 6\n");
}

TEST(Completion, KnowsTheProgramsOfAJob) {
  EXPECT_EQ(by_shell({{"-n", "1", "a", ":", "b", ""}}), ":program 5\n");
  EXPECT_THAT(candidates({{"a", ":", "--"}}), ElementsAre("--np", "--wdir", "--host", "--env-file"));
  EXPECT_EQ(by_shell({{"a", ":b", ""}}), ":program 1\n");
}

TEST(Completion, FindsHostsInTheHostfile) {
  EXPECT_THAT(candidates({{"--hostfile", "hosts", "-H", ""}}), ElementsAre("alpha", "beta", "gamma"));
  EXPECT_THAT(candidates({{"-f", "/cwd/hosts", "--host", "alpha:2,b"}}), ElementsAre("alpha:2,beta"));
  EXPECT_THAT(candidates({{"--hostfile=hosts", "--exclude", "alpha:0@b"}}), ElementsAre("alpha:0@beta"));
  EXPECT_THAT(candidates({{"--default-hostfile", "~/h", "-H", ""}, {{"/home/u/h", "delta\n"}}}), ElementsAre("delta"));
  EXPECT_THAT(candidates({{"-H", ""}}), IsEmpty());
}

TEST(Completion, FindsHostsInTheHostfileOfTheUser) {
  const std::map<std::string, std::string> files = {
      {"/home/u/.config/dlaunch/config.toml", "default-hostfile = \"/a\"\n"}, {"/a", "alpha\n"}, {"/b", "beta\n"}};
  EXPECT_THAT(candidates({{"-H", ""}, files}), ElementsAre("alpha"));
  EXPECT_THAT(candidates({{"-H", ""}, files, {"HOME=/home/u", "DLAUNCH_HOSTFILE=/b"}}), ElementsAre("beta"));
}

TEST(Completion, ListsTheOptionsOfAnotherLauncher) {
  EXPECT_THAT(candidates({{"--as", "torchrun", "--nproc"}}), ElementsAre("--nproc-per-node"));
  EXPECT_THAT(candidates({{"--as", "torchrun", "--standalone", "--gra"}}), IsEmpty());
  EXPECT_THAT(candidates({{"--as", "torchrun", "--gra"}}), ElementsAre("--grace"));
  EXPECT_THAT(candidates({{"--as", "torchrun", "--host"}}), Contains("--hostfile"));
  EXPECT_THAT(candidates({{"--as", "mpirun", "--byn"}}), ElementsAre("--bynode"));
  EXPECT_THAT(candidates({{"--as", "accelerate", ""}}), ElementsAre("launch"));
  EXPECT_THAT(candidates({{"--as", "accelerate", "launch", "--mixed"}}), ElementsAre("--mixed_precision"));
  EXPECT_EQ(by_shell({{"--as", "torchrun", "--nproc-per-node", "2", "tr"}}), ":files\n");
  EXPECT_EQ(by_shell({{"--as", "torchrun", "--nproc-per-node", "2", "train.py", "-"}}), ":program 5\n");
  EXPECT_EQ(by_shell({{"--as", "srun", "-N2", "-n", "4", "a"}}), ":program 6\n");
}

TEST(Completion, ListsNoRefusedOptionOfALauncher) {
  for (const std::string& name : cli::grammar_names()) {
    const cli::LauncherSpec* launcher = cli::launcher_of(*cli::grammar_named(name));
    if (!launcher) continue;
    Words line{"--as", name};
    if (!launcher->subcommand.empty()) line.emplace_back(launcher->subcommand);
    line.emplace_back("--");
    const Words found = candidates({line});
    EXPECT_THAT(found, Not(IsEmpty())) << name;
    for (const cli::LauncherOption& option : launcher->options) {
      const std::string word = cli::as_typed(*launcher, option.row.name());
      const bool own = cli::find_option(option.row.name()).spec != nullptr;
      const bool listed = std::ranges::find(found, word) != found.end();
      EXPECT_FALSE(listed && option.support == cli::Support::refused && !own) << name << ' ' << word;
    }
  }
}

TEST(Completion, CompletesSubcommands) {
  EXPECT_THAT(candidates({{"stacks", ""}}), ElementsAre("c14bb0055c156b25", "d2"));
  EXPECT_THAT(candidates({{"stacks", "--all", "c"}}), ElementsAre("c14bb0055c156b25"));
  EXPECT_THAT(candidates({{"stacks", "--a"}}), ElementsAre("--all"));
  EXPECT_THAT(candidates({{"help", "exit"}}), ElementsAre("exit-codes"));
  EXPECT_THAT(candidates({{"help", "stacks", ""}}), IsEmpty());
  EXPECT_THAT(candidates({{"completion", ""}}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(candidates({{"completion", "bash", ""}}), IsEmpty());
  EXPECT_EQ(by_shell({{"chaos", "--plan", ""}}), ":files\n");
  EXPECT_THAT(candidates({{"chaos", "--seed", "1", "--", "--colo"}}), ElementsAre("--color"));
  EXPECT_EQ(by_shell({{"chaos", "--", "-n", "2", "a"}}), ":program 5\n");
}

TEST(Completion, WrongLineHasNoCandidates) {
  for (const Words& line : {Words{}, Words{"--unknown", ""}, Words{"--as", "torchrun", "--unknown", ""},
                            Words{"-mca", "key", ""}, Words{"-n", "1", "--as", "torchrun", ""}, Words{"--color", "x"},
                            Words{"--unknown=a"}, Words{"stacks", "--b", ""}, Words{"--as", "accelerate", "test", "--"},
                            Words{"--hostfile", "missing", "-H", ""}, Words{"--grace", ""}}) {
    const Completion made = Line{line}.complete();
    EXPECT_THAT(made.candidates, IsEmpty()) << testing::PrintToString(line);
    EXPECT_EQ(made.by_shell, "") << testing::PrintToString(line);
  }
}

TEST(Completion, HostfileThatIsNotValidHasNoHosts) {
  for (const char* text : {"", "a slots=x\n", "a\n\x1b[1m\n", "a\tb\n"}) {
    EXPECT_THAT(candidates({{"--hostfile", "h", "-H", ""}, {{"/cwd/h", text}}}), IsEmpty()) << text;
  }
}

TEST(CompletionScripts, ExistForEachShell) {
  for (const std::string& shell : shells()) {
    const Words words{shell};
    EXPECT_THAT(*script_for(words), testing::HasSubstr("dlaunch")) << shell;
  }
  EXPECT_THAT(*script_for(Words{"zsh"}), StartsWith("#compdef dlaunch\n"));
  EXPECT_THAT(*script_for(Words{"--help"}), StartsWith("Usage: dlaunch completion bash|zsh|fish\n"));
  EXPECT_EQ(script_for(Words{"csh"}).error().what, "invalid value \"csh\"");
  EXPECT_EQ(script_for(Words{"csh"}).error().why, "expected bash, zsh or fish");
  EXPECT_EQ(script_for(Words{"bash", "zsh"}).error().what, "unexpected word \"zsh\"");
  EXPECT_FALSE(script_for(Words{}).has_value());
}

}  // namespace
}  // namespace dlaunch::completion
