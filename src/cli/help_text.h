// Building blocks of all help texts: the groups of options, an option's spelling, and text wrapped to a width. PURE.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/option_spec.h"

namespace dlaunch::cli {

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

}  // namespace dlaunch::cli
