#include "cli/option_parser.h"

#include <algorithm>
#include <iterator>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/text.h"
#include "base/try.h"
#include "cli/preferences.h"
#include "cli/values.h"

namespace dlaunch::cli {
namespace {

/// Thrown through CLI11 by the options' callbacks.
struct Refused {
  Error error;
};

[[noreturn]] void refuse(std::string_view spelled, std::string what) {
  throw Refused{{.where = std::string(spelled), .what = std::move(what), .why = "", .hint = ""}};
}

/// CLI11 expects one dash before a name of one letter, and two before all others.
std::string cli_name(std::string_view name) { return (name.size() == 1 ? "-" : "--") + std::string(name); }

/// "-n,--np,-c"; for a name that unsets a flag "!--nooversubscribe"; for a count "-v{1},--vv{2}".
std::string cli_names(const OptionSpec& spec) {
  std::string names;
  for (std::string_view name : split(spec.names, ' ')) {
    if (name.starts_with('-')) continue;  // another launcher's "-np", an additional name
    names += names.empty() ? "" : ",";
    if (name.starts_with('!')) names += '!', name.remove_prefix(1);
    names += cli_name(name);
    if (spec.takes == Arity::count) names += name == "vv" ? "{2}" : "{1}";
  }
  return names;
}

/// Returns true for the value of --label as the next word: "[{rank}]". "[%r]" is a value too, and an error later.
bool is_template(std::string_view word) { return word.find('{') != word.npos || !check_template_fields(word); }

/// Splits "-np4" into the option and the number. Returns false for other words: only a name with a single dash and a
/// value N can have an attached number.
bool split_number(TypedOption& typed, const FindOption& find) {
  const std::string_view name = typed.name();
  const std::string_view letters = name.substr(0, name.find_last_not_of("0123456789") + 1);
  if (typed.value || typed.spelled.starts_with("--") || letters.empty() || letters == name) return false;
  const FoundOption found = find(letters);
  if (!found.spec || found.spec->takes != Arity::value || found.spec->value_name != "N") return false;
  typed.found = found;
  typed.value = name.substr(letters.size());
  typed.spelled = typed.spelled.substr(0, 1 + letters.size());
  return true;
}

}  // namespace

CLI::Option* declare(CLI::App& app, const OptionSpec& spec,
                     std::function<void(const std::vector<std::string>&)> take_words,
                     std::function<void(long)> take_flag) {
  const std::string names = cli_names(spec);
  const bool pair = spec.takes == Arity::pair || spec.takes == Arity::assignment;
  if (spec.takes != Arity::value && !pair) {
    return app.add_flag_function(names, std::move(take_flag))->trigger_on_parse();
  }
  const auto callback = [take = std::move(take_words)](const CLI::results_t& words) { return take(words), true; };
  CLI::Option* const option = app.add_option(names, callback);
  return option->type_size(pair ? 2 : 1)->expected(1)->trigger_on_parse();
}

TypedOption next_option(std::span<const std::string>& words, const FindOption& find) {
  const std::string_view word = words.front();
  words = words.subspan(1);
  const size_t equals = word.find('=');
  TypedOption typed{.spelled = word.substr(0, equals)};
  if (equals != word.npos) typed.value = word.substr(equals + 1);
  typed.found = find(typed.name());
  if (!typed.found.spec && !split_number(typed, find)) return typed;
  const Arity takes = typed.found.spec->takes;
  const bool assigned = takes == Arity::assignment && !words.empty() && words.front().find('=') != std::string::npos;
  const bool pair = takes == Arity::pair || takes == Arity::assignment;
  const size_t own = pair ? (assigned ? 1 : 2) : takes == Arity::value && !typed.value ? 1 : 0;
  typed.own = words.first(std::min(own, words.size()));
  words = words.subspan(typed.own.size());
  const bool may_have = takes == Arity::maybe_value && !typed.value && !words.empty();
  if (may_have && typed.found.spec->value_name == "TEMPLATE" && is_template(words.front())) {
    typed.value = words.front();
    words = words.subspan(1);
  }
  return typed;
}

OptionParser::OptionParser(ParserRules rules) : rules_(std::move(rules)), app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag();
  app_->prefix_command();
}

OptionParser::~OptionParser() = default;

Result<Group> OptionParser::parse(std::span<const std::string>& words) {
  Group group;
  typed_.clear();
  options_.clear();
  refused_.reset();
  dashes_ = false;
  try {
    std::vector<std::string> line = next_line(words);
    std::ranges::reverse(line);
    app_->parse(std::move(line));
    if (refused_) return fail(*std::move(refused_));
    group.program = app_->remaining();
    group.after_dashes = dashes_;
    if (!group.program.empty()) group.program.erase(group.program.begin());  // the "--"
  } catch (const Refused& refused) {
    return fail(refused.error);
  } catch (const CLI::ArgumentMismatch&) {
    const TypedOption& typed = typed_.front();
    return fail({"", "missing value of " + std::string(typed.spelled),
                 "expected " + std::string(typed.found.spec->value_name), ""});
  }
  if (!options_.empty() && options_.back().spec->takes == Arity::show) group.show = options_.back().spec;
  group.options = std::move(options_);
  return group;
}

/// Returns true after an error, or after --help.
bool OptionParser::ended() const {
  return refused_ || (!typed_.empty() && typed_.back().found.spec->takes == Arity::show);
}

/// Returns the words of one group in CLI11's grammar: the options, "--", then all other words.
std::vector<std::string> OptionParser::next_line(std::span<const std::string>& words) {
  std::vector<std::string> line;
  std::vector<std::string> others;
  bool options = true;
  while (!words.empty() && !ended() && !(rules_.groups && words.front() == ":")) {
    const std::string& word = words.front();
    if (options && word.starts_with('-') && (word.size() > 1 || !rules_.permutes)) {
      options = rewrite(words, line);
      continue;
    }
    others.push_back(word);
    options = options && rules_.permutes;
    words = words.subspan(1);
  }
  if (!words.empty()) words = words.subspan(1);
  if (others.empty()) return line;
  line.emplace_back("--");
  std::ranges::move(others, std::back_inserter(line));
  return line;
}

/// Takes one option with the words of its value. Returns false at "--" and after an error. A flag's value bypasses
/// CLI11: CLI11 drops an empty value and "{}".
bool OptionParser::rewrite(std::span<const std::string>& words, std::vector<std::string>& line) {
  const TypedOption typed = next_option(words, rules_.find);
  dashes_ = typed.spelled == "--" && !typed.value;
  if (dashes_) return false;
  if (!typed.found.spec) {  // reported after CLI11 has read the earlier words, because --help may be an earlier word
    TypedOption number{.spelled = typed.spelled};
    if (typed.value && split_number(number, rules_.find)) {  // "-n2=3"
      refused_ = {.where = std::string(typed.spelled),
                  .what = "unexpected value",
                  .why = "",
                  .hint = "write " + std::string(number.spelled) + ' ' + std::string(*number.value)};
    } else {
      refused_ = rules_.unknown(std::string(typed.spelled), typed.name());
    }
    return false;
  }
  declare_once(typed.found);
  line.push_back(cli_name(typed.found.name));
  if (typed.found.spec->takes == Arity::value && typed.value) line.emplace_back(*typed.value);
  if (typed.found.spec->takes == Arity::assignment && typed.own.size() == 1) {
    const std::string& both = typed.own.front();
    line.push_back(both.substr(0, both.find('=')));
    if (both.find('=') != both.npos) line.push_back(both.substr(both.find('=') + 1));
  } else {
    line.insert(line.end(), typed.own.begin(), typed.own.end());
  }
  typed_.push_back(typed);
  return true;
}

/// Declares a row at its first use: CLI11 needs a millisecond to declare all rows.
void OptionParser::declare_once(const FoundOption& found) {
  if (app_->get_option_no_throw(cli_name(found.name))) return;
  declare(
      *app_, *found.spec, [this](const std::vector<std::string>& words) { take_words(words); },
      [this](long value) { take_flag(value); });
}

void OptionParser::take(std::string value) {
  const TypedOption& typed = typed_.front();
  options_.push_back({typed.found.spec, std::move(value), std::string(typed.spelled), "command line"});
  typed_.pop_front();
}

/// `value` is negative for a name that unsets the flag, else the count. --pty=false and --label=false turn off an
/// option of the config file or of a variable.
void OptionParser::take_flag(long value) {
  const TypedOption& typed = typed_.front();
  const bool has_value = typed.value.has_value();
  const Arity takes = typed.found.spec->takes;
  if (has_value && (value < 0 || takes == Arity::count || takes == Arity::show))
    refuse(typed.spelled, "unexpected value");
  if (has_value) {
    auto meant = preference_value(*typed.found.spec, *typed.value);
    if (!meant) {
      meant.error().where = std::string(typed.spelled);
      throw Refused{meant.error()};
    }
    return take(*std::move(meant));
  }
  if (takes == Arity::maybe_value) return take("");
  take(takes == Arity::count ? std::to_string(value) : value < 0 ? "false" : "true");
}

/// Joins a pair, such as -mca KEY VALUE, to KEY=VALUE. The error does not show the words: -genv has secrets.
void OptionParser::take_words(const std::vector<std::string>& words) {
  const TypedOption& typed = typed_.front();
  if (typed.found.spec->takes == Arity::value) return take(words.front());
  const std::string& key = words.front();
  if (typed.value || key.empty() || key.find('=') != key.npos) {
    throw Refused{{std::string(typed.spelled), "invalid value",
                   "expected two words: " + std::string(typed.found.spec->value_name), ""}};
  }
  take(key + '=' + words.back());
}

namespace {

tl::unexpected<Error> refuse(const std::string& where, std::string what, std::string hint) {
  return fail({.where = where, .what = std::move(what), .why = "", .hint = std::move(hint)});
}

/// "ranktable make" of "dlaunch ranktable make": messages begin with "dlaunch:" already.
std::string below_dlaunch(const std::string& path) { return path.substr(path.find(' ') + 1); }

/// "make, check or merge"
std::string listed(const std::vector<CommandSpec>& commands) {
  std::string text;
  for (size_t i = 0; i < commands.size(); ++i) {
    text += i == 0 ? "" : i + 1 == commands.size() ? " or " : ", ";
    text += commands[i].name;
  }
  return text;
}

Result<Chosen> parse_below(const CommandSpec& command, const std::string& path, std::span<const std::string> words) {
  for (const CommandSpec& below : command.commands) {
    if (!words.empty() && words.front() == below.name) {
      return parse_command(below, path + ' ' + std::string(below.name), words.subspan(1));
    }
  }
  return refuse(
      below_dlaunch(path), words.empty() ? "missing command" : "unknown command \"" + words.front() + '"',
      "use " + listed(command.commands) + "; to run a program with this name: dlaunch -- " + std::string(command.name));
}

}  // namespace

// hccl_tools.py uses '_' in names, dlaunch uses '-'.
FoundOption find_command_option(const CommandSpec& command, std::string_view name) {
  const std::string dashes = dashes_for_underscores(name);
  std::string underscores(name);
  std::ranges::replace(underscores, '-', '_');
  if (const FoundOption found = find_name(help_option(), dashes); found.spec) return found;
  for (const CommandSpec::Option& option : command.options) {
    if (const FoundOption found = find_name(option.row, dashes); found.spec) return found;
    if (const FoundOption found = find_name(option.row, underscores); found.spec) return found;
  }
  return {};
}

namespace {

Error unknown_option(const CommandSpec& command, const std::string& path, const std::string& spelled,
                     std::string_view name) {
  std::vector<std::string> known;
  for (const CommandSpec::Option& option : command.options)
    std::ranges::move(split(option.row.names, ' '), std::back_inserter(known));
  const auto near = nearest(name, known);
  return {.where = below_dlaunch(path),
          .what = "unknown option \"" + spelled + '"',
          .why = "",
          .hint = near ? "use " + dashed(*near) : "run " + path + " --help"};
}

Result<void> take(const CommandSpec& command, const ParsedOption& given) {
  const auto option = std::ranges::find(command.options, given.spec, [](const auto& known) { return &known.row; });
  auto taken = option->take(given);
  if (!taken && taken.error().where.empty()) taken.error().where = given.spelled;
  return taken;
}

}  // namespace

Result<Chosen> parse_command(const CommandSpec& command, const std::string& path, std::span<const std::string> words) {
  OptionParser parser({.find = [&](std::string_view name) { return find_command_option(command, name); },
                       .unknown = [&](const std::string& spelled,
                                      std::string_view name) { return unknown_option(command, path, spelled, name); },
                       .permutes = command.commands.empty()});
  auto group = TRY(parser.parse(words));
  if (group.show) return Chosen{&command, path, true};
  if (!command.commands.empty()) return parse_below(command, path, group.program);
  for (const ParsedOption& given : group.options) {
    TRY(take(command, given));
  }
  if (!command.operands && !group.program.empty()) {
    return refuse(below_dlaunch(path), "unexpected word \"" + group.program.front() + '"', "run " + path + " --help");
  }
  if (command.operands && group.program.empty()) {
    const std::string usage(command.usage);
    const size_t begin = usage.starts_with('[') ? 1 : 0;
    return refuse(below_dlaunch(path), "missing " + usage.substr(begin, usage.find_first_of(".] ") - begin),
                  "run " + path + ' ' + usage);
  }
  if (command.operands) *command.operands = std::move(group.program);
  return Chosen{&command, path};
}

}  // namespace dlaunch::cli
