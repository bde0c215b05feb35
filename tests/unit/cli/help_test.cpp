// The help texts, the man page and docs/options.md contain the whole option table and fit their widths.
#include <fstream>
#include <sstream>

#include "cli/help.h"
#include "cli/option_spec.h"
#include "command_line_fixture.h"
#include "mpirun/arguments.h"

namespace dlaunch::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr size_t kMostLines = 50;
constexpr long kCommonOptions = 25;

void expect_fits(const std::string& text, size_t columns = kHelpWidth) {
  for (const TextLine& line : lines_of(text, "")) EXPECT_LE(line.text.size(), columns) << line.text;
}

std::string joined(const std::string& text) {  // replaces each run of spaces and newlines by one space
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space || !out.ends_with(' ')) out += space ? ' ' : c;
  }
  return out;
}

std::string help_of(const Words& words) {
  const auto page = help_page(words, find_typed_option);
  return page ? *page : to_text(page.error());
}

TEST(Help, ListsTheCommonOptionsOnOneScreen) {
  const std::string text = CommandLineFixture{}.text({"--help"});
  EXPECT_LE(lines_of(text, "").size(), kMostLines);
  expect_fits(text);
  EXPECT_EQ(std::ranges::count(option_table(), true, &OptionSpec::common), kCommonOptions);
  for (const OptionSpec& spec : option_table()) {
    if (spec.common) {
      EXPECT_THAT(joined(text), AllOf(HasSubstr(short_spelling(spec)), HasSubstr(std::string(spec.help))));
    }
  }
  for (const char* name : {"--as", "--fake-hosts", "--hang-after", "--progress", "--stdout-file", "  chaos ",
                           "  hosts ", "  check ", "  stacks ", "  ranktable ", "  help ", "--help-all", "man dlaunch"})
    EXPECT_THAT(text, HasSubstr(name));
}

TEST(Help, HelpAllListsEveryOption) {
  const std::string text = CommandLineFixture{}.text({"--help-all"});
  expect_fits(text);
  for (const OptionSpec& spec : option_table()) {
    const std::string line = "\n  " + spelling(spec);
    if (spec.section == Section::hidden) {
      EXPECT_THAT(text, Not(HasSubstr(line)));
    } else {
      EXPECT_THAT(text, HasSubstr(line));
      EXPECT_THAT(joined(text), HasSubstr(std::string(spec.help)));
    }
  }
  EXPECT_THAT(text, HasSubstr(std::string(kTimeNote)));
}

TEST(Help, StopsParsingAtTheOption) {
  for (const Words& args : {Words{"-h"}, Words{"-help"}, Words{"--help", "--bogus"}, Words{"-n", "2", "--help", "p"},
                            Words{"a", ":", "--help"}, Words{"--help-all", "--bogus"}}) {
    EXPECT_THAT(CommandLineFixture{}.text(args), StartsWith("Usage: dlaunch"));
  }
  EXPECT_THAT(CommandLineFixture{}.error({"--bogus", "--help"}), HasSubstr("--bogus"));
}

TEST(HelpTopics, ExplainTheirOptions) {
  for (const HelpPage& page : help_pages()) {
    const std::string name(page.names.substr(0, page.names.find(' ')));
    const std::string text = CommandLineFixture{}.text({"help", name});
    expect_fits(text);
    EXPECT_THAT(text, HasSubstr(std::string(page.title)));
    each_name(page.options, [&](std::string_view option) {
      const OptionSpec* spec = find_option(option).spec;
      ASSERT_TRUE(spec) << option;
      EXPECT_THAT(joined(text), AllOf(HasSubstr(std::string(spec->help)), HasSubstr(joined(std::string(spec->more)))));
    });
  }
}

TEST(HelpTopics, CoverEveryOption) {
  for (const OptionSpec& spec : option_table()) {
    if (spec.section == Section::hidden) continue;
    bool found = false;
    for (const HelpPage& page : help_pages()) {
      each_name(page.options, [&](std::string_view name) { found = found || find_option(name).spec == &spec; });
    }
    EXPECT_TRUE(found) << "add to a page of help_pages.cpp: " << spec.name();
  }
}

TEST(HelpTopics, HaveDistinctNames) {
  for (const HelpPage& page : help_pages()) {
    each_name(page.names, [&](std::string_view name) { EXPECT_EQ(find_help_page(name), &page) << name; });
  }
}

TEST(HelpTopics, AreListedWithoutAWord) {
  const std::string text = help_of({});
  for (const HelpPage& page : help_pages())
    EXPECT_THAT(text, HasSubstr("\n  " + std::string(page.names.substr(0, page.names.find(' ')))));
  EXPECT_EQ(text, help_of({"--help"}));
  EXPECT_EQ(text, help_of({"help"}));
}

TEST(HelpTopics, ExplainOneOption) {
  EXPECT_THAT(help_of({"--hang-after"}), AllOf(HasSubstr("--hang-after TIME"), HasSubstr("stacks, state and CPU use")));
  EXPECT_EQ(help_of({"stdout-file"}), help_of({"--stdout-file"}));
  EXPECT_THAT(help_of({"-n"}), HasSubstr("start N ranks"));
}

TEST(HelpTopics, ExplainOptionsOfOtherLaunchers) {
  EXPECT_THAT(help_of({"--log-dir"}),
              AllOf(HasSubstr("--log-dir DIR"), HasSubstr("the same as --output-filename DIR."),
                    HasSubstr(joined(meaning(*find_option("output-filename").spec)).substr(0, 30))));
  EXPECT_THAT(help_of({"nproc_per_node"}), HasSubstr("the same as -N N."));
  EXPECT_THAT(help_of({"--ntasks"}), HasSubstr("the same as -n N."));
  EXPECT_THAT(help_of({"--nnodes"}), AllOf(HasSubstr("not supported: --nnodes"), HasSubstr("--same-line --nodes N")));
}

TEST(HelpTopics, SuggestTheNearestTopic) {
  EXPECT_THAT(help_of({"restrats"}), HasSubstr("use dlaunch help restarts, or one of: "));
  EXPECT_THAT(help_of({"chek"}), HasSubstr("use dlaunch help check, or one of: "));
  for (const char* launcher : {"mpirun", "torchrun", "srun"}) {
    EXPECT_THAT(help_of({launcher}), HasSubstr(std::string("use dlaunch help migrate, or dlaunch --as ") + launcher));
  }
}

TEST(Help, OptionsPageListsOptionsOfOtherLaunchers) {
  const std::string page = options_page();
  EXPECT_THAT(page, HasSubstr("\n## Options of other launchers\n"));
  for (const OptionSpec& row : familiar_table()) {
    each_name(row.names, [&](std::string_view name) {
      EXPECT_THAT(page.substr(page.find("## Options of other launchers")), HasSubstr(dashed(name)));
    });
  }
  EXPECT_THAT(page, HasSubstr("| `--log-dir DIR` | `--output-filename DIR` |"));
}

TEST(HelpTopics, RejectUnknownWords) {
  EXPECT_THAT(CommandLineFixture{}.error({"help", "bogus"}),
              AllOf(HasSubstr("unknown topic \"bogus\""), HasSubstr("restarts"), HasSubstr("exit-codes")));
  EXPECT_THAT(CommandLineFixture{}.error({"help", "mpi", "bogus"}), HasSubstr("unexpected word \"bogus\""));
  EXPECT_THAT(CommandLineFixture{}.error({"help", "--as", "torchrun"}), HasSubstr("unexpected word \"torchrun\""));
  EXPECT_THAT(CommandLineFixture{}.error({"help", "chaos", "link"}), HasSubstr("unexpected word \"link\""));
  EXPECT_THAT(CommandLineFixture{}.error({"help", "ranktable", "--", "check"}), HasSubstr("unexpected word \"--\""));
}

TEST(Version, NamesTheBuildAndTheLibraries) {
  for (const char* spelled : {"--version", "-V", "-version"}) {
    EXPECT_THAT(CommandLineFixture{}.text({spelled}),
                AllOf(testing::MatchesRegex("dlaunch [0-9]+\\.[0-9]+\\.[0-9]+\nbuild [a-z0-9_]+, .*\nbuilt with .*\n"),
                      HasSubstr("Asio 1."), HasSubstr("fmt "), HasSubstr("hwloc "), HasSubstr("nlohmann/json 3."),
                      HasSubstr("RE2 "), HasSubstr("spdlog 1.")));
  }
}

TEST(ManPage, HasEveryOptionAndTopic) {
  const std::string text = CommandLineFixture{}.text({"--help-man"});
  EXPECT_THAT(text, StartsWith(".TH DLAUNCH 1"));
  for (const OptionSpec& spec : option_table()) {
    if (spec.section == Section::hidden) continue;
    std::string escaped;
    for (const char c : dashed(spec.name())) escaped += c == '-' ? "\\-" : std::string(1, c);
    EXPECT_THAT(text, HasSubstr("\n.B " + escaped)) << spec.name();
  }
  EXPECT_THAT(text, AllOf(HasSubstr("\\-\\-output\\-filename"), HasSubstr(".SS Inspection and reports"),
                          HasSubstr(".SH EXIT STATUS"), HasSubstr(".SH DETECT HANGS")));
  for (const TextLine& line : lines_of(text, "")) {
    const bool request = line.text.starts_with('.');
    EXPECT_TRUE(!request || line.text.size() > 2) << line.where << line.text;
  }
}

TEST(OptionsPage, IsTheGeneratedText) {
  std::ifstream file(DLAUNCH_DOCS "/options.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_TRUE(page.str() == CommandLineFixture{}.text({"--help-markdown"}))
      << "regenerate the page: build/dev/bin/dlaunch --help-markdown > docs/options.md";
}

}  // namespace
}  // namespace dlaunch::cli
