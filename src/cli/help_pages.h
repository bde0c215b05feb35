// The pages of `dlaunch help TOPIC`, and those of the subcommands `hosts` and `check`. The man page contains them too.
// PURE.
#pragma once

#include <span>
#include <string_view>

namespace dlaunch::cli {

struct HelpPage {
  std::string_view names;       ///< "hangs hang": the list of topics shows the first
  std::string_view title;       ///< "Detect hangs"
  std::string_view text;        ///< for reflowed() (cli/help_text.h)
  std::string_view options;     ///< names of options, as "hang-after on-hang"
  std::string_view usage = {};  ///< "dlaunch hosts [options]": the page of a subcommand; empty: a topic
};

std::span<const HelpPage> help_pages();

/// Null if no page has this name.
const HelpPage* find_help_page(std::string_view name);

}  // namespace dlaunch::cli
