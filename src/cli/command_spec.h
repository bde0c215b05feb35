// A subcommand with its own options, such as `dlaunch ranktable make`: its options, their setters, and the text of
// --help. To add a subcommand, add a CommandSpec, a row in grammar.cpp, and the call in run.cpp. PURE.
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
    /// The caller fills an empty `where` of an Error with the option as typed.
    std::function<Result<void>(const ParsedOption&)> take;
  };

  std::string_view name;   ///< "make"
  std::string_view usage;  ///< "FILE... [options]"
  std::string_view what;   ///< one line, without a full stop
  std::vector<Option> options = {};
  std::vector<std::string>* operands =
      nullptr;                             ///< receives all other words, at least one; null: no other words are valid
  std::vector<CommandSpec> commands = {};  ///< selected by the first word
  std::string_view notes = {};             ///< the last lines of --help: columns, exit codes, examples
};

struct Chosen {
  const CommandSpec* command = nullptr;  ///< the command or a command below it; its options are set
  std::string path;                      ///< "dlaunch ranktable make"
  bool help = false;                     ///< --help: no option is set
};

/// `path` is the command as typed. Names may have one dash or two, and '_' for '-'; options may follow operands.
Result<Chosen> parse_command(const CommandSpec& command, const std::string& path, std::span<const std::string> words);

}  // namespace dlaunch::cli
