// A command that is no job, such as `dlaunch ranktable make`: its options, where each value goes, and the text of
// --help. To add one: such a value, a row in command_line.cpp, and the call in run.cpp. PURE.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

struct CommandSpec {
  struct Option {
    OptionSpec row;  ///< its names, value_name, standard and help
    /// An Error's empty `where` is filled with the option as it was typed.
    std::function<Result<void>(const ParsedOption&)> take;
  };

  std::string_view name;   ///< "make"
  std::string_view usage;  ///< "FILE... [options]"
  std::string_view what;   ///< one line
  std::vector<Option> options = {};
  std::vector<std::string>* operands = nullptr;  ///< get all other words, at least one; null: the command takes none
  std::vector<CommandSpec> commands = {};        ///< the first word names one of these
  std::string_view notes = {};                   ///< the last lines of --help
};

struct Chosen {
  const CommandSpec* command = nullptr;  ///< `command` or one below it; its options were taken
  std::string path;                      ///< "dlaunch ranktable make"
  bool help = false;                     ///< --help: nothing was taken
};

/// `path` is what was typed so far. Names may have one dash or two, and '_' for '-'; options may follow operands.
Result<Chosen> parse_command(const CommandSpec& command, const std::string& path, std::span<const std::string> words);

}  // namespace dlaunch::cli
