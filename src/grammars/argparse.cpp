#include "grammars/argparse.h"
#include "grammars/typed_options.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "base/try.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

/// Returns true for "-1" and "-.5": argparse reads them as values.
bool is_negative_number(string_view word) {
  if (!word.starts_with('-')) return false;
  word.remove_prefix(1);
  const size_t dot = std::min(word.find('.'), word.size());
  const string_view fraction = word.substr(std::min(dot + 1, word.size()));
  const auto digits = [](string_view text) { return text.find_first_not_of("0123456789") == string_view::npos; };
  if (dot == word.size()) return !word.empty() && digits(word);
  return digits(word.substr(0, dot)) && !fraction.empty() && digits(fraction);
}

class ArgparseReader {
 public:
  ArgparseReader(const LauncherSpec& launcher, std::span<const std::string> words)
      : launcher_(launcher), words_(words) {}

  Result<std::vector<std::string>> read() {
    while (!words_.empty() && words_.front() != "--" && is_option(words_.front())) {
      TRY(words_.front().starts_with("--") ? take_long() : take_short());
    }
    add_program();
    return std::move(line_);
  }

 private:
  bool is_option(string_view word) const {
    if (!word.starts_with('-') || word == "-") return false;
    if (launcher_.getopt) return true;
    const bool is_long = word.starts_with("--");
    const string_view typed = word.substr(0, word.find('='));
    if (is_long ? !launcher_options_meant(launcher_, typed.substr(2)).empty()
                : find_launcher_option(launcher_, word.substr(1, 1)) ||
                      !single_dash_options_meant(launcher_, typed).empty())
      return true;
    return !is_negative_number(word) && word.find(' ') == string_view::npos;
  }

  tl::unexpected<Error> unknown(const std::string& spelled, string_view name) const {
    std::vector<std::string> known;
    for (const LauncherOption& option : launcher_.options)
      std::ranges::move(split(option.row.names, ' '), std::back_inserter(known));
    const auto near = nearest(name, known);
    const std::string as(launcher_.name);
    std::string hint = "run dlaunch --as " + as + " --help for the options";
    if (near) hint = "use " + as_typed(launcher_, *near);
    if (find_known_option(name).spec && spelled.starts_with("--"))
      hint = "write dlaunch's own options first: dlaunch --as " + as + " " + spelled + " …";
    return fail({.where = as, .what = "unknown option \"" + spelled + '"', .why = "", .hint = std::move(hint)});
  }

  Result<const LauncherOption*> only(const std::vector<const LauncherOption*>& options,
                                     const std::string& spelled) const {
    if (options.empty()) return unknown(spelled, string_view(spelled).substr(spelled.find_first_not_of('-')));
    if (options.size() == 1) return options.front();
    std::string names;
    for (const LauncherOption* option : options) {
      names += (names.empty() ? "" : ", ") + as_typed(launcher_, option->row.name());
    }
    return fail({.where = "",
                 .what = "ambiguous option \"" + spelled + '"',
                 .why = names,
                 .hint = "write more letters of the name"});
  }

  Result<void> take_long() {
    const string_view name = string_view(words_.front()).substr(2);
    return take_named(launcher_options_meant(launcher_, name.substr(0, name.find('='))));
  }

  /// "-np", "-np=4", or letters.
  Result<void> take_short() {
    if (launcher_.getopt) return take_letters();
    const string_view word = words_.front();
    const string_view typed = word.substr(0, word.find('='));
    const LauncherOption* letter = find_launcher_option(launcher_, word.substr(1, 1));
    auto options = single_dash_options_meant(launcher_, typed);
    if (options.empty() || (letter && typed.size() == 2)) return take_letters();
    const bool exact = options.size() == 1 && find_name(options.front()->row, typed).spec;
    if (letter && !exact) options.push_back(letter);
    return take_named(options);
  }

  /// Parses and removes the first word: an option in `options`, with a name of several letters.
  Result<void> take_named(const std::vector<const LauncherOption*>& options) {
    const string_view word = words_.front();
    const size_t equals = word.find('=');
    const std::string spelled(word.substr(0, equals));
    const LauncherOption* option = TRY(only(options, spelled));
    words_ = words_.subspan(1);
    if (option->row.takes == Arity::value && equals != word.npos) return add(*option, word.substr(equals + 1));
    if (equals == word.npos) return take_alone(*option, spelled);
    return fail({.where = spelled, .what = "unexpected value", .why = "", .hint = "remove the value"});
  }

  /// "-r", "-r3", "-r=3", "-mh"
  Result<void> take_letters() {
    string_view letters = string_view(words_.front()).substr(1);
    words_ = words_.subspan(1);
    while (!letters.empty()) {
      const std::string spelled = "-" + std::string(letters.substr(0, 1));
      const LauncherOption* option = find_launcher_option(launcher_, letters.substr(0, 1));
      if (!option) return unknown(spelled, letters.substr(0, 1));
      letters.remove_prefix(1);
      if (option->row.takes != Arity::value) {
        TRY(add(*option));
        continue;
      }
      if (letters.empty()) return take_alone(*option, spelled);
      return add(*option, letters.substr(letters.starts_with('=') && !launcher_.getopt ? 1 : 0));
    }
    return {};
  }

  /// Adds an option without an attached value. The next word may be its value.
  Result<void> take_alone(const LauncherOption& option, const std::string& spelled) {
    if (option.row.takes != Arity::value) return add(option);
    return option.alone ? add(option, option.alone) : take_next(option, spelled);
  }

  Result<void> take_next(const LauncherOption& option, const std::string& spelled) {
    if (words_.empty() || (!launcher_.getopt && (words_.front() == "--" || is_option(words_.front())))) {
      return fail({.where = "",
                   .what = "missing value of " + spelled,
                   .why = "expected " + std::string(option.row.value_name),
                   .hint = words_.empty() ? "" : "write '=' before a value with a leading dash"});
    }
    const string_view value = words_.front();
    words_ = words_.subspan(1);
    return add(option, value);
  }

  Result<void> add(const LauncherOption& option) {
    line_.push_back("--" + std::string(option.row.name()));
    return {};
  }

  Result<void> add(const LauncherOption& option, string_view value) {
    line_.push_back("--" + std::string(option.row.name()) + "=" + std::string(value));
    return {};
  }

  void add_program() {
    if (words_.empty()) return;
    const bool ended = words_.front() == "--";
    if (ended) words_ = words_.subspan(1);
    line_.emplace_back("--");
    for (size_t i = 0; i < words_.size(); ++i) {
      if (i != 1 || ended || launcher_.getopt || words_[i] != "--") line_.push_back(words_[i]);
    }
  }

  const LauncherSpec& launcher_;
  std::span<const std::string> words_;
  std::vector<std::string> line_;
};

}  // namespace

Result<std::vector<std::string>> read_argparse(const LauncherSpec& launcher, std::span<const std::string> words) {
  return ArgparseReader(launcher, words).read();
}

}  // namespace dlaunch::cli
