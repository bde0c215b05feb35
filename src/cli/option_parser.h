// Parses words by rows of options, with CLI11, whose headers no header here includes. CLI11 declares the rows, takes
// their values and separates the program. A step before it converts mpirun's grammar to CLI11's: long names have one
// dash or two, a value is the next word, whatever it looks like, or follows '=', and only "--" or the first word that
// is no option ends the options.
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

/// Finds an option by a name without dashes.
using FindOption = std::function<FoundOption(std::string_view name)>;

/// An option as it was typed, which CLI11 does not tell. It refers to the words.
struct TypedOption {
  std::string_view spelled;                    ///< "--np"
  FoundOption found = {};                      ///< without a spec: no such option
  std::optional<std::string_view> value = {};  ///< after '='; for Arity::maybe_value it may be the next word
  std::span<const std::string> own = {};       ///< the words after it that are its value

  std::string_view name() const { return spelled.substr(spelled.starts_with("--") ? 2 : 1); }
  std::string_view text() const { return own.empty() ? value.value_or("") : std::string_view(own.front()); }
};

/// Takes an option from the front of `words`, which begins with '-', and does not judge it.
TypedOption next_option(std::span<const std::string>& words, const FindOption& find);

/// Whose options the words are, and where the options end.
struct ParserRules {
  FindOption find;
  std::function<Error(const std::string& spelled, std::string_view name)> unknown;
  std::string_view needs = "needs a value: ";  ///< the error when it is missing; the value's name follows
  bool groups = false;                         ///< a lone ':' begins the next program
  bool permutes = false;                       ///< options may follow other words, as in getopt
};

/// The options of one program of `a : b`, and the program.
struct Group {
  std::vector<ParsedOption> options;
  std::vector<std::string> program = {};  ///< argv, or all words that belong to no option; may be empty
  std::string where = {};                 ///< "file:3" in an --app file, else empty
  const OptionSpec* show = nullptr;       ///< --help and the like: nothing after it was read
};

/// Declares a row. Each time it is typed, `take_words` gets the words of its value, or `take_flag` a count, which is
/// below 0 for a name that unsets the flag.
CLI::Option* declare(CLI::App& app, const OptionSpec& spec,
                     std::function<void(const std::vector<std::string>&)> take_words,
                     std::function<void(long)> take_flag);

class OptionParser {
 public:
  explicit OptionParser(ParserRules rules);
  ~OptionParser();
  OptionParser(const OptionParser&) = delete;
  OptionParser& operator=(const OptionParser&) = delete;

  /// Parses one group from the front of `words`, and removes it with the ':' that ends it.
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
  std::deque<TypedOption> typed_;  ///< those that CLI11 has not handed back yet
  std::optional<Error> refused_;   ///< an error after the words that CLI11 was given
  std::vector<ParsedOption> options_;
};

}  // namespace dlaunch::cli
