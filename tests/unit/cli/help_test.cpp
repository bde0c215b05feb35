// The help and the man page say all that the table has, and fit a reader.
#include "command_line_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Help, NamesEveryOptionAndFitsTwoScreens) {
  const std::string text = CommandLineFixture{}.text({"--help"});
  for (const OptionSpec& spec : option_table()) {
    const auto named = HasSubstr(dashed(spec.name()));
    if (spec.section == Section::hidden || spec.rare) {
      EXPECT_THAT(text, Not(named));
    } else {
      EXPECT_THAT(text, AllOf(named, HasSubstr(std::string(spec.help))));
    }
  }
  const std::vector<TextLine> lines = lines_of(text, "");
  EXPECT_LE(lines.size(), 78u);
  for (const TextLine& line : lines) EXPECT_LE(line.text.size(), 120u) << line.text;
}

TEST(Help, ComesBeforeWhatFollowsIt) {
  for (const Words& args : {Words{"-h"}, Words{"-help"}, Words{"--help", "--bogus"}, Words{"-n", "2", "--help", "p"},
                            Words{"a", ":", "--help"}}) {
    EXPECT_THAT(CommandLineFixture{}.text(args), StartsWith("Usage: dlaunch"));
  }
  EXPECT_THAT(CommandLineFixture{}.error({"--bogus", "--help"}), HasSubstr("--bogus"));
}

TEST(Version, NamesTheLibraries) {
  for (const char* spelled : {"--version", "-V", "-version"}) {
    EXPECT_THAT(CommandLineFixture{}.text({spelled}),
                AllOf(testing::MatchesRegex("dlaunch [0-9]+\\.[0-9]+\\.[0-9]+\nbuilt with .*\n"), HasSubstr("Asio 1."),
                      HasSubstr("fmt "), HasSubstr("hwloc "), HasSubstr("nlohmann/json 3."), HasSubstr("RE2 "),
                      HasSubstr("spdlog 1.")));
  }
}

TEST(ManPage, IsMadeFromTheSameTable) {
  const std::string text = CommandLineFixture{}.text({"--help-man"});
  EXPECT_THAT(text, StartsWith(".TH DLAUNCH 1"));
  for (const OptionSpec& spec : option_table()) {
    if (spec.section == Section::hidden) continue;
    std::string escaped;
    for (const char c : dashed(spec.name())) escaped += c == '-' ? "\\-" : std::string(1, c);
    EXPECT_THAT(text, HasSubstr("\n.B " + escaped)) << spec.name();
  }
  EXPECT_THAT(text, AllOf(HasSubstr("\\-\\-output\\-filename"), HasSubstr(".SS Look before you run"),
                          HasSubstr(".SH EXIT STATUS")));
  for (const TextLine& line : lines_of(text, "")) {
    const bool request = line.text.starts_with('.');
    EXPECT_TRUE(!request || line.text.size() > 2) << line.where << line.text;
  }
}

}  // namespace
}  // namespace dlaunch::cli
