#include "cli/option_parser.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/config_file.h"

namespace dlaunch::cli {
namespace {

/// Thrown through CLI11 by the options' callbacks.
struct Refused {
  Error error;
};

[[noreturn]] void refuse(const std::string& spelled, std::string what) {
  throw Refused{{.where = spelled, .what = std::move(what), .why = "", .hint = ""}};
}

/// CLI11 knows a name of one letter with one dash, all others with two.
std::string cli_name(std::string_view name) { return (name.size() == 1 ? "-" : "--") + std::string(name); }

/// "-n,--np,-c"; of a flag that is unset "!--nooversubscribe", of a count "-v{1},--vv{2}".
std::string cli_names(const OptionSpec& spec) {
  std::string names;
  for (std::string_view name : split(spec.names, ' ')) {
    names += names.empty() ? "" : ",";
    if (name.starts_with('!')) names += '!', name.remove_prefix(1);
    names += cli_name(name);
    if (spec.takes == Arity::count) names += name == "vv" ? "{2}" : "{1}";
  }
  return names;
}

std::string two_words(const OptionSpec& spec) { return "takes two words: " + std::string(spec.value_name); }

}  // namespace

CLI::Option* declare(CLI::App& app, const OptionSpec& spec,
                     std::function<void(const std::vector<std::string>&)> take_words,
                     std::function<void(long)> take_flag) {
  const std::string names = cli_names(spec);
  if (spec.takes != Arity::value && spec.takes != Arity::pair) {
    return app.add_flag_function(names, std::move(take_flag))->trigger_on_parse();
  }
  const auto callback = [take = std::move(take_words)](const CLI::results_t& words) { return take(words), true; };
  CLI::Option* const option = app.add_option(names, callback);
  return option->type_size(spec.takes == Arity::pair ? 2 : 1)->expected(1)->trigger_on_parse();
}

OptionParser::OptionParser(Grammar grammar) : grammar_(std::move(grammar)), app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag();
  app_->prefix_command();
}

OptionParser::~OptionParser() = default;

Result<Group> OptionParser::parse(std::span<const std::string>& words) {
  Group group;
  typed_.clear();
  options_.clear();
  refused_.reset();
  try {
    std::vector<std::string> line = next_line(words);
    std::ranges::reverse(line);
    app_->parse(std::move(line));
    if (refused_) return fail(*std::move(refused_));
    group.program = app_->remaining();
    if (!group.program.empty()) group.program.erase(group.program.begin());  // the "--"
  } catch (const Refused& refused) {
    return fail(refused.error);
  } catch (const CLI::ArgumentMismatch&) {
    const Typed& typed = typed_.front();
    std::string what = typed.spec->takes == Arity::pair ? two_words(*typed.spec)
                                                        : std::string(grammar_.needs).append(typed.spec->value_name);
    return fail({.where = typed.spelled, .what = std::move(what), .why = "", .hint = ""});
  }
  if (!options_.empty() && options_.back().spec->takes == Arity::show) group.show = options_.back().spec;
  group.options = std::move(options_);
  return group;
}

/// Nothing more is read: something is wrong, or --help was asked for.
bool OptionParser::ended() const { return refused_ || (!typed_.empty() && typed_.back().spec->takes == Arity::show); }

/// The words of one group as CLI11 has them: its options, "--", then all words that are none.
std::vector<std::string> OptionParser::next_line(std::span<const std::string>& words) {
  std::vector<std::string> line;
  std::vector<std::string> others;
  bool options = true;
  while (!words.empty() && !ended() && !(grammar_.groups && words.front() == ":")) {
    const std::string& word = words.front();
    if (options && word.starts_with('-') && (word.size() > 1 || !grammar_.permutes)) {
      options = rewrite(words, line);
      continue;
    }
    others.push_back(word);
    options = options && grammar_.permutes;
    words = words.subspan(1);
  }
  if (!words.empty()) words = words.subspan(1);
  if (others.empty()) return line;
  line.emplace_back("--");
  std::ranges::move(others, std::back_inserter(line));
  return line;
}

/// Takes one option with the words that are its own. False when it is "--", which ends the options.
bool OptionParser::rewrite(std::span<const std::string>& words, std::vector<std::string>& line) {
  const std::string_view word = words.front();
  words = words.subspan(1);
  if (word == "--") return false;
  const size_t equals = word.find('=');
  Typed typed{.spec = nullptr, .spelled = std::string(word.substr(0, equals)), .value = {}};
  if (equals != word.npos) typed.value = word.substr(equals + 1);
  const std::string_view name = std::string_view(typed.spelled).substr(typed.spelled.starts_with("--") ? 2 : 1);
  const FoundOption found = grammar_.find(name);
  if (!found.spec) {  // told when CLI11 has had what stands before it: it may be --help
    refused_ = grammar_.unknown(typed.spelled, name);
    return false;
  }
  typed.spec = found.spec;
  auto own = static_cast<size_t>(declared(found).get_items_expected_max());
  line.push_back(cli_name(found.name));
  if (own == 1 && typed.value) {
    line.push_back(*typed.value);
    own = 0;
  }
  own = std::min(own, words.size());
  line.insert(line.end(), words.begin(), words.begin() + static_cast<std::ptrdiff_t>(own));
  words = words.subspan(own);
  const bool may_have = found.spec->takes == Arity::maybe_value && !typed.value && !words.empty();
  if (may_have && words.front().find('{') != std::string::npos) {
    typed.value = words.front();
    words = words.subspan(1);
  }
  typed_.push_back(std::move(typed));
  return true;
}

/// A row is declared when it is first named: all rows at once take CLI11 a millisecond.
const CLI::Option& OptionParser::declared(const FoundOption& found) {
  const std::string name = cli_name(found.name);
  if (const CLI::Option* const option = app_->get_option_no_throw(name)) return *option;
  return *declare(
      *app_, *found.spec, [this](const std::vector<std::string>& words) { take_words(words); },
      [this](long value) { take_flag(value); });
}

void OptionParser::take(std::string value) {
  Typed& typed = typed_.front();
  options_.push_back({typed.spec, std::move(value), std::move(typed.spelled), "command line"});
  typed_.pop_front();
}

/// `value` is below 0 for a name that unsets the flag, else how much it counts. --pty=false and --label=false turn off
/// what the config file or a variable turned on.
void OptionParser::take_flag(long value) {
  const Typed& typed = typed_.front();
  const bool has_value = typed.value.has_value();
  const Arity takes = typed.spec->takes;
  if (has_value && (value < 0 || takes == Arity::count || takes == Arity::show))
    refuse(typed.spelled, "takes no value");
  if (has_value) {
    auto meant = preference_value(*typed.spec, *typed.value);
    if (!meant) {
      meant.error().where = typed.spelled;
      throw Refused{meant.error()};
    }
    return take(*std::move(meant));
  }
  if (takes == Arity::maybe_value) return take("");
  take(takes == Arity::count ? std::to_string(value) : value < 0 ? "false" : "true");
}

/// A pair, as of -mca KEY VALUE, is one value from here on: KEY=VALUE.
void OptionParser::take_words(const std::vector<std::string>& words) {
  const Typed& typed = typed_.front();
  if (typed.spec->takes == Arity::value) return take(words.front());
  const std::string& key = words.front();
  if (typed.value || key.empty() || key.find('=') != key.npos) refuse(typed.spelled, two_words(*typed.spec));
  take(key + '=' + words.back());
}

}  // namespace dlaunch::cli
