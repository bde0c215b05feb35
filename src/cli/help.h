// The help texts, made from the option table, the subcommands and the help pages only if the user asks for them. PURE.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/option_parser.h"
#include "cli/option_spec.h"
#include "cli/options.h"

namespace dlaunch::cli {

// The pages of `dlaunch help TOPIC`, and those of the subcommands `hosts` and `check`. The man page contains them too.
// PURE.

struct HelpPage {
  std::string_view names;       ///< "hangs hang": the list of topics shows the first
  std::string_view title;       ///< "Detect hangs"
  std::string_view text;        ///< for reflowed() (cli/help.h)
  std::string_view options;     ///< names of options, as "hang-after on-hang"
  std::string_view usage = {};  ///< "dlaunch hosts [options]": the page of a subcommand; empty: a topic
};

std::span<const HelpPage> help_pages();

/// Null if no page has this name.
const HelpPage* find_help_page(std::string_view name);

// Building blocks of all help texts: the groups of options, an option's spelling, and text wrapped to a width. PURE.

struct OptionGroup {
  Section section = Section::hidden;
  std::string_view title = {};
};

/// All groups except Section::hidden, in the order of --help-all.
std::span<const OptionGroup> option_groups();

constexpr size_t kHelpWidth = 100;  ///< columns of every help text

constexpr std::string_view kUsage = "[options] program [args] [: [options] program [args]]...";

/// The valid forms of TIME, as one sentence for --help, the man page and docs/options.md.
constexpr std::string_view kTimeNote =
    "TIME is a number of seconds or a duration: 90, 90s, 5m, 1h30m and 00:05:00 are valid.";

/// "-n, --np, -c N", "--label[=TEMPLATE]".
std::string spelling(const OptionSpec& spec);

/// At most one short and one long name: "-f, --hostfile FILE".
std::string short_spelling(const OptionSpec& spec);

/// The help text without the default.
std::string help_line(const OptionSpec& spec);
/// The help line with the default.
std::string meaning(const OptionSpec& spec);

/// dlaunch's option for another launcher's option with stands_for.
struct SameOption {
  const OptionSpec* spec;  ///< of option_table()
  std::string text;        ///< "--output-filename DIR"
};

SameOption same_option(const OptionSpec& row);

/// Breaks lines at spaces so that each has at most `width` columns, and indents each by `indent` columns. Lines that
/// begin with a space keep their breaks. The result ends with a newline unless `text` is empty.
std::string wrapped(std::string_view text, size_t indent = 0, size_t width = kHelpWidth);

/// Joins the lines of each paragraph. An empty line ends a paragraph; lines that begin with a space keep their breaks.
std::string reflowed(std::string_view text);

/// One entry of a list: `left`, then `right` from `column` on, wrapped.
std::string entry(const std::string& left, std::string_view right, size_t column);

std::string help_text();     ///< --help
std::string all_options();   ///< --help-all
std::string man_page();      ///< --help-man: dlaunch(1), in man(7) macros
std::string options_page();  ///< --help-markdown: docs/options.md

/// The text that the option `name` of a job, `hosts` or `check` prints: "help", "help-all", "help-man" or
/// "help-markdown".
std::string help_for(std::string_view name, Verb verb);

/// `dlaunch help WORDS`: a topic, a subcommand with options of a job, or an option. No words: the list of topics. An
/// unknown topic is an Error. `find` also finds options of other launchers.
Result<std::string> help_page(std::span<const std::string> words, const FindOption& find);

/// --help of a subcommand with its own options, or of a command below it. `path` is the command as typed: "dlaunch
/// ranktable".
std::string help_text(const CommandSpec& command, const std::string& path);

/// The hint if the command line has no program.
std::string usage_hint();

}  // namespace dlaunch::cli
