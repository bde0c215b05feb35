// The help texts, made from the option table, the subcommands and the help pages only if the user asks for them. PURE.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command_spec.h"
#include "cli/options.h"

namespace dlaunch::cli {

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
