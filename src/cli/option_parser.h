// Parses words by rows of options, with CLI11. No header here includes CLI11's headers. CLI11 declares the rows, takes
// the values and separates the program. A step before CLI11 converts mpirun's way of typing options to CLI11's.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace dlaunch::cli {

/// An option as typed. The words must outlive this object.
struct TypedOption {
  std::string_view spelled;                    ///< "--np"
  FoundOption found = {};                      ///< without a spec: unknown option
  std::optional<std::string_view> value = {};  ///< after '=', or attached; for Arity::maybe_value also the next word
  std::span<const std::string> own = {};       ///< the words of the value, after the option

  std::string_view name() const { return spelled.substr(spelled.starts_with("--") ? 2 : 1); }
  std::string_view text() const { return own.empty() ? value.value_or("") : std::string_view(own.front()); }
};

/// Parses the first word of `words`, which begins with '-', as an option, and removes the words of the option. Does not
/// check the value.
TypedOption next_option(std::span<const std::string>& words, const FindOption& find);

/// The known options, and the end of the options.
struct ParserRules {
  FindOption find;
  std::function<Error(const std::string& spelled, std::string_view name)> unknown;
  bool groups = false;    ///< a lone ':' begins the next program
  bool permutes = false;  ///< options may follow other words, as in getopt
};

/// The options of one program of `a : b`, and the program.
struct Group {
  std::vector<ParsedOption> options;
  std::vector<std::string> program = {};  ///< argv, or all words except options and values; may be empty
  bool after_dashes = false;              ///< "--" ended the options
  std::string where = {};                 ///< "file:3" in an --app file, else empty
  const OptionSpec* show = nullptr;       ///< --help or a similar option: the words after it were not read
};

/// Declares a row. For each typed option, CLI11 calls `take_words` with the words of the value, or `take_flag` with a
/// count. The count is negative for a name that unsets the flag.
CLI::Option* declare(CLI::App& app, const OptionSpec& spec,
                     std::function<void(const std::vector<std::string>&)> take_words,
                     std::function<void(long)> take_flag);

class OptionParser {
 public:
  explicit OptionParser(ParserRules rules);
  ~OptionParser();
  OptionParser(const OptionParser&) = delete;
  OptionParser& operator=(const OptionParser&) = delete;

  /// Parses one group from the front of `words`. Removes the group and the ':' after it from `words`.
  Result<Group> parse(std::span<const std::string>& words);

 private:
  void declare_once(const FoundOption& found);
  bool ended() const;
  std::vector<std::string> next_line(std::span<const std::string>& words);
  bool rewrite(std::span<const std::string>& words, std::vector<std::string>& line);
  void take(std::string value);
  void take_flag(long value);
  void take_words(const std::vector<std::string>& words);

  ParserRules rules_;
  std::unique_ptr<CLI::App> app_;
  std::deque<TypedOption> typed_;  ///< options that CLI11 has not returned yet
  bool dashes_ = false;            ///< "--" ended the options
  std::optional<Error> refused_;   ///< an error after the words for CLI11
  std::vector<ParsedOption> options_;
};

}  // namespace dlaunch::cli

// A subcommand with its own options, such as `dlaunch ranktable make`: its options, their setters, and the text of
// --help. To add a subcommand, add a CommandSpec, a row in grammar.cpp, and the call in run.cpp. PURE.

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
  bool help = false;                     ///< --help was given; no option is set
};

/// Finds an option of the command, or --help. `name` may have '_' for '-', and '-' for '_'.
FoundOption find_command_option(const CommandSpec& command, std::string_view name);

/// `path` is the command as typed. Names may have one dash or two, and '_' for '-'; options may follow operands.
Result<Chosen> parse_command(const CommandSpec& command, const std::string& path, std::span<const std::string> words);

}  // namespace dlaunch::cli
