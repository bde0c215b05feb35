#include "grammars/launcher_line.h"

#include <algorithm>
#include <iterator>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/option_parser.h"
#include "mpirun/arguments.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

/// Returns true if the launcher accepts the separators between the words of `name`. "nproc-per_node" is always invalid.
bool well_joined(const LauncherSpec& launcher, string_view name) {
  const bool dashes = name.find('-') != string_view::npos;
  const bool underscores = name.find('_') != string_view::npos;
  if (name.starts_with('-') || (dashes && underscores)) return false;
  return !(dashes && launcher.joint == Joint::underscore) && !(underscores && launcher.joint == Joint::dash);
}

/// "PET_NPROC_PER_NODE"
std::string variable_for(const LauncherSpec& launcher, const OptionSpec& row) {
  std::string name(launcher.variables);
  for (const char c : row.name()) name += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
  return name;
}

/// Reads options from variables. A flag's variable is a number; 0 means off.
Result<std::vector<ParsedOption>> given_by_variables(const LauncherSpec& launcher,
                                                     const std::vector<std::string>& environment) {
  std::vector<ParsedOption> given;
  if (launcher.variables.empty()) return given;
  for (const LauncherOption& option : launcher.options) {
    if (option.row.takes == Arity::show) continue;
    const std::string name = variable_for(launcher, option.row);
    const auto text = variable(environment, name);
    if (!text) continue;
    const bool flag = option.row.takes == Arity::nothing;
    const auto number = parse_int(*text, -1'000'000, 1'000'000);
    if (flag && !number) {
      return fail({.where = name, .what = "invalid value", .why = "expected 1 or 0", .hint = ""});
    }
    given.push_back({.spec = &option.row,
                     .value = flag ? (*number != 0 ? "true" : "false") : std::string(*text),
                     .spelled = name,
                     .origin = name,
                     .source = Source::command_line});
  }
  return given;
}

const LauncherOption& option_of(const LauncherSpec& launcher, const ParsedOption& given) {
  return *std::ranges::find(launcher.options, given.spec, [](const LauncherOption& known) { return &known.row; });
}

/// Rejects unsupported options, and adds a note for each ignored option.
Result<void> check_support(const LauncherSpec& launcher, LauncherLine& line) {
  for (const ParsedOption& given : line.options) {
    const LauncherOption& option = option_of(launcher, given);
    if (line.find(given.spec->name()) != &given) continue;
    if (option.support == Support::translated || option.support == Support::allocation) continue;
    if (option.support == Support::refused && (!launcher.site_variables || given.spelled.starts_with('-'))) {
      return fail({.where = given.spelled, .what = "not supported", .why = std::string(given.spec->help), .hint = ""});
    }
    line.notes.push_back(given.spelled + " changes nothing here: " + std::string(given.spec->help));
  }
  return {};
}

/// "-r, --redirects"
std::string spelled_names(const LauncherSpec& launcher, const OptionSpec& row) {
  std::string before;
  std::string text;
  each_name(row.names, [&](string_view name) {
    const bool first = name.size() == 1 || name.starts_with('-');
    if (first) before += as_typed(launcher, name) + ", ";
    if (!first) text += (text.empty() ? "" : ", ") + as_typed(launcher, name);
  });
  text.insert(0, before);
  return row.value_name.empty() ? text : text + " " + std::string(row.value_name);
}

const LauncherOption* row_named(const LauncherSpec& launcher, string_view name) {
  const auto found = std::ranges::find_if(
      launcher.options, [&](const LauncherOption& option) { return find_name(option.row, name).spec != nullptr; });
  return found == launcher.options.end() ? nullptr : &*found;
}

/// Options with a name of several letters that begins with `start`.
std::vector<const LauncherOption*> beginning_with(const LauncherSpec& launcher, string_view start) {
  std::vector<const LauncherOption*> options;
  for (const LauncherOption& option : launcher.options) {
    bool begins = false;
    each_name(option.row.names, [&](string_view known) { begins |= known.size() > 1 && known.starts_with(start); });
    if (begins) options.push_back(&option);
  }
  return options;
}

string_view support_text(Support support) {
  if (support == Support::ignored) return "changes nothing: ";
  if (support == Support::allocation) return "changes nothing in a batch job, and is refused elsewhere: ";
  return support == Support::refused ? "refused: " : "";
}

}  // namespace

const ParsedOption* LauncherLine::find(string_view name) const {
  const auto found = std::find_if(options.rbegin(), options.rend(),
                                  [&](const ParsedOption& given) { return given.spec->name() == name; });
  if (found == options.rend()) return nullptr;
  return found->spec->takes == Arity::nothing && found->value != "true" ? nullptr : &*found;
}

std::string LauncherLine::value(string_view name, string_view standard) const {
  const ParsedOption* given = find(name);
  return given ? given->value : std::string(standard);
}

bool LauncherLine::typed(string_view name) const {
  const ParsedOption* given = find(name);
  return given && given->spelled.starts_with('-');
}

const LauncherOption* find_launcher_option(const LauncherSpec& launcher, string_view name) {
  return well_joined(launcher, name) ? row_named(launcher, dashes_for_underscores(name)) : nullptr;
}

std::vector<const LauncherOption*> launcher_options_meant(const LauncherSpec& launcher, string_view name) {
  if (const LauncherOption* exact = find_launcher_option(launcher, name)) return {exact};
  if (!well_joined(launcher, name) || !launcher.abbreviates) return {};
  return beginning_with(launcher, dashes_for_underscores(name));
}

std::vector<const LauncherOption*> single_dash_options_meant(const LauncherSpec& launcher, string_view word) {
  if (const LauncherOption* exact = row_named(launcher, word)) return {exact};
  return beginning_with(launcher, word);
}

std::string as_typed(const LauncherSpec& launcher, string_view name) {
  if (name.starts_with('-')) return std::string(name);
  std::string text = dashed(name);
  if (launcher.joint == Joint::underscore || launcher.underscores) std::replace(text.begin() + 2, text.end(), '-', '_');
  return text;
}

Result<LauncherLine> read_launcher_line(const LauncherSpec& launcher, std::span<const std::string> words,
                                        const std::vector<std::string>& environment) {
  LauncherLine line;
  const auto plain = TRY(read_argparse(launcher, words));
  OptionParser parser({.find =
                           [&](string_view name) {
                             const LauncherOption* option = row_named(launcher, name);
                             return option ? find_name(option->row, name) : FoundOption{};
                           },
                       .unknown =
                           [](const std::string& spelled, string_view) {
                             return Error{
                                 .where = "", .what = "unknown option \"" + spelled + '"', .why = "", .hint = ""};
                           }});
  std::span<const std::string> rest(plain);
  auto group = TRY(parser.parse(rest));
  line.show = group.show;
  if (launcher.site_variables) {
    line.options = launcher.site_variables(group.options, environment);
  } else {
    line.options = TRY(given_by_variables(launcher, environment));
  }
  for (ParsedOption& given : group.options) {
    given.spelled = as_typed(launcher, given.spec->name());
    line.options.push_back(std::move(given));
  }
  line.program = std::move(group.program);
  if (launcher.replace) TRY(launcher.replace(line));
  TRY(check_support(launcher, line));
  return line;
}

size_t own_options_before(std::span<const std::string> words, const LauncherSpec& launcher) {
  std::span<const std::string> rest = words;
  while (!rest.empty() && rest.front().starts_with("--")) {
    std::span<const std::string> next = rest;
    const TypedOption typed = next_option(next, find_typed_option);
    const bool own = typed.found.spec && find_known_option(typed.found.name).spec;  // also with underscores
    if (!own || !launcher_options_meant(launcher, typed.name()).empty()) break;
    rest = next;
  }
  return words.size() - rest.size();
}

namespace {

/// The end of a row in launcher_table(). Options with the same help share a row.
std::string end_of(const LauncherOption& option) {
  return " | " + std::string(support_text(option.support)).append(option.row.help) + " |\n";
}

}  // namespace

std::string launcher_help(const LauncherSpec& launcher) {
  const std::string name(launcher.name);
  const std::string word = launcher.subcommand.empty() ? "" : " " + std::string(launcher.subcommand);
  std::string text =
      "Usage: dlaunch --as " + name + " [dlaunch's own long options]" + word + " [" + name +
      "'s options] program args\n       A link to dlaunch with the launcher's name works without --as.\n\n"
      "Text in backquotes shows the same setting in dlaunch's own options.\n\n";
  for (const LauncherOption& option : launcher.options) {
    text.append("  ").append(spelled_names(launcher, option.row)).append("\n        ");
    text.append(support_text(option.support)).append(option.row.help).append("\n");
  }
  return text;
}

std::string launcher_table(const LauncherSpec& launcher) {
  std::string text = "| " + std::string(launcher.name) + " | here |\n|---|---|\n";
  const LauncherOption* before = nullptr;
  for (const LauncherOption& option : launcher.options) {
    if (option.row.takes == Arity::show) continue;
    const bool same =
        launcher.dense_table && before && before->support == option.support && before->row.help == option.row.help;
    text.append(same ? ", `" : before ? end_of(*before) + "| `" : "| `");
    text.append(spelled_names(launcher, option.row)).append("`");
    before = &option;
  }
  return before ? text + end_of(*before) : text;
}

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
