// A command that is no job, as `dlaunch ranktable make`: which options it has, where each goes and what --help says of
// it. To add one: such a value, a row in command_line.cpp, and the call in run.cpp. PURE.
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
  std::vector<std::string>* operands = nullptr;  ///< where all other words go, one at least; null: it takes none
  std::vector<CommandSpec> commands = {};        ///< one of which the first word names
  std::string_view notes = {};                   ///< the last lines of --help
};

struct Chosen {
  const CommandSpec* command = nullptr;  ///< `command` or one below it; its options are taken
  std::string path;                      ///< "dlaunch ranktable make"
  bool help = false;                     ///< --help: nothing was taken
};

/// `path`: what was typed so far. Names may have one dash or two, and '_' for '-'; options may follow operands.
Result<Chosen> parse_command(const CommandSpec& command, const std::string& path, std::span<const std::string> words);

}  // namespace dlaunch::cli
