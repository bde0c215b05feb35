#include "completion/completion.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"
#include "cli/grammar.h"
#include "cli/help.h"
#include "cli/preferences.h"
#include "cli/values.h"
#include "dlaunch/hostfile.h"
#include "grammars/command_line.h"
#include "grammars/launchers.h"
#include "mpirun/arguments.h"
#include "mpirun/translate.h"

namespace dlaunch::completion {
namespace {

using cli::Arity;
using cli::Grammar;
using cli::LauncherOption;
using cli::LauncherSpec;
using cli::OptionSpec;
using cli::TypedOption;
using cli::Verb;
using std::string_view;
using Words = std::span<const std::string>;

/// Each candidate for a list repeats the list that is typed: more bytes than this would take too long.
constexpr size_t kMostRepeated = size_t{4} << 20;

bool is_option(string_view word) { return word.size() > 1 && word.starts_with('-') && word != "--"; }

/// Whether the next word is a value of the option.
bool lacks_value(const TypedOption& typed) {
  const Arity takes = typed.found.spec->takes;
  if (takes == Arity::value) return !typed.value && typed.own.empty();
  if (takes != Arity::pair && takes != Arity::assignment) return false;
  return typed.own.empty() || (typed.own.size() == 1 && typed.own.front().find('=') == std::string::npos);
}

/// Torchrun and similar launchers start a script, not a command of PATH.
bool starts_scripts(const LauncherSpec& launcher) {
  return &launcher != cli::launcher_of(Grammar::srun) && &launcher != cli::launcher_of(Grammar::horovodrun);
}

class Completer {
 public:
  Completer(Words words, const Sources& sources)
      : sources_(sources), before_(words.first(words.size() - 1)), typed_(words.back()) {}

  Completion complete() {
    complete_line(before_);
    return std::move(made_);
  }

 private:
  void complete_line(Words words) {
    const bool help = !words.empty() && words.front() == "help";
    if (help) return words.size() == 1 ? add_topics() : void();
    const auto line = cli::read_command_line("dlaunch", {words.begin(), words.end()});
    if (!line) return;
    words = words.last(line->words.size());
    if (line->verb == Verb::completion && words.empty()) return add_all(shells());
    for (const cli::CommandSpec& command : sources_.commands) {
      if (cli::find_subcommand(command.name)->verb == line->verb) return complete_command(command, words);
    }
    if (const LauncherSpec* const launcher = cli::launcher_of(line->grammar))
      return complete_launcher(*launcher, words);
    if (before_.empty() && !typed_.starts_with('-')) add_subcommands();
    if (line->verb == Verb::run || line->verb == Verb::check || line->verb == Verb::hosts) complete_job(words, *line);
  }

  /// dlaunch's own options, and programs with a ':' between them.
  void complete_job(Words words, const cli::CommandLine& line) {
    bool later = false;
    for (; skip_options(words, cli::find_typed_option); later = true) {
      const auto colon = std::ranges::find(words, ":");
      if (colon == words.end()) break;
      words = words.subspan(static_cast<size_t>(colon - words.begin()) + 1);
    }
    if (done_) return;
    if (words.empty() && typed_.starts_with('-')) return add_own_options(later, line.grammar);
    const bool all_commands = before_.empty() && typed_.empty();  // too many: list only the subcommands
    if (!words.empty() && words.front() == "--") words = words.subspan(1);
    if (line.verb != Verb::hosts && !all_commands) leave_program(words.size());
  }

  /// `typed`: the number of the program's words before the cursor.
  void leave_program(size_t typed) { made_.by_shell = "program " + std::to_string(before_.size() + 1 - typed); }

  /// The line of another launcher. dlaunch's own options come first.
  void complete_launcher(const LauncherSpec& launcher, Words words) {
    Words own = words.first(cli::own_options_before(words, launcher));
    words = words.subspan(own.size());
    if (!skip_options(own, cli::find_typed_option)) return;
    const bool may_be_own = words.empty();
    if (!launcher.subcommand.empty()) {
      if (words.empty() && !typed_.starts_with('-')) return add(std::string(launcher.subcommand), "");
      if (!words.empty() && words.front() != launcher.subcommand) return;
      if (!words.empty()) words = words.subspan(1);
    }
    const auto find = [&launcher](string_view name) {
      const LauncherOption* const option = cli::find_launcher_option(launcher, name);
      return option ? cli::FoundOption{&option->row, name} : cli::FoundOption{};
    };
    std::vector<std::string> line(words.begin(), words.end());
    line.emplace_back("x");  // at the cursor: the value of an option, or a word of the program
    const auto plain = cli::read_argparse(launcher, line);
    if (!plain) return;
    const auto dashes = std::ranges::find(*plain, "--");
    if (dashes == plain->end()) {
      const cli::FoundOption last = find(string_view(plain->back()).substr(2, plain->back().find('=') - 2));
      return last.spec ? add_values(*last.spec, "") : void();
    }
    const auto typed = static_cast<size_t>(plain->end() - dashes) - 2;
    if (typed > 0 || !typed_.starts_with('-')) {
      leave_program(typed);
      if (typed == 0 && starts_scripts(launcher)) made_.by_shell = "files";
      return;
    }
    if (add_attached_value(find)) return;
    for (const LauncherOption& option : launcher.options) {
      const auto spelled = [&](string_view name) { return cli::as_typed(launcher, name); };
      if (option.support != cli::Support::refused) add_names(option.row, std::string(option.row.help), spelled);
    }
    if (may_be_own && typed_.starts_with("--")) add_own_options(false, Grammar::dlaunch);
  }

  /// A subcommand with its own options.
  void complete_command(const cli::CommandSpec& command, Words words) {
    const auto dashes = std::ranges::find(words, "--");
    if (dashes != words.end() && command.name == "chaos") {
      return complete_line(words.subspan(static_cast<size_t>(dashes - words.begin()) + 1));
    }
    for (const cli::CommandSpec& below : command.commands) {
      if (words.empty()) add(std::string(below.name), std::string(below.what));
      if (!words.empty() && words.front() == below.name) return complete_command(below, words.subspan(1));
    }
    const auto find = [&command](string_view name) { return cli::find_command_option(command, name); };
    while (skip_options(words, find) && !words.empty()) words = words.subspan(1);
    if (done_ || add_attached_value(find)) return;
    if (!typed_.starts_with('-')) {
      if (command.usage.starts_with("[JOB")) add_all(sources_.jobs());
      if (command.usage.starts_with("FILE")) made_.by_shell = "files";
      return;
    }
    for (const cli::CommandSpec::Option& option : command.options) add_own(option.row);
    add_own(cli::help_option());
  }

  /// Removes the options at the front of `words`. Returns false, and sets done_, after the candidates of an option's
  /// value and after an unknown option.
  bool skip_options(Words& words, const cli::FindOption& find) {
    while (!words.empty() && is_option(words.front())) {
      const TypedOption typed = cli::next_option(words, find);
      const OptionSpec* const row = typed.found.spec;
      done_ = !row || (words.empty() && lacks_value(typed));
      if (row && done_) add_values(*row, "");
      if (done_) return false;
      if (row->name() == "hostfile" || (row->name() == "default-hostfile" && hostfile_.empty()))
        hostfile_ = typed.text();
    }
    return true;
  }

  void add(std::string word, std::string about) {
    if (word.starts_with(typed_)) made_.candidates.push_back({std::move(word), std::move(about)});
  }

  void add_all(const std::vector<std::string>& words) {
    for (const std::string& word : words) add(word, "");
  }

  void add_subcommands() {
    for (const cli::Subcommand& row : cli::subcommand_table()) add(std::string(row.name), std::string(row.what));
  }

  void add_topics() {
    for (const cli::HelpPage& page : cli::help_pages()) {
      if (page.usage.empty()) add(std::string(page.names.substr(0, page.names.find(' '))), std::string(page.title));
    }
    add_subcommands();
    if (typed_.starts_with('-')) add_own_options(false, Grammar::dlaunch);
  }

  /// "--color=al"
  bool add_attached_value(const cli::FindOption& find) {
    const size_t equals = typed_.find('=');
    if (equals == typed_.npos) return false;
    const cli::FoundOption found = find(typed_.substr(0, equals).substr(typed_.starts_with("--") ? 2 : 1));
    if (found.spec) add_values(*found.spec, typed_.substr(0, equals + 1));
    return true;
  }

  /// The common options first. `later`: for a later program of `a : b`.
  void add_own_options(bool later, Grammar grammar) {
    if (add_attached_value(cli::find_typed_option)) return;
    for (const bool common : {true, false}) {
      for (const OptionSpec& row : cli::option_table()) {
        const bool fits = !later || row.per_program() || row.also_later;
        if (fits && row.common == common && row.section != cli::Section::hidden) add_own(row);
      }
    }
    if (grammar == Grammar::dlaunch || later) return;
    for (const OptionSpec& row : cli::foreign_table()) {
      const bool fits = cli::is_word_of_hydra(row.name()) == (grammar == Grammar::hydra);
      const std::string same = row.stands_for.empty() ? "" : "the same as " + cli::same_option(row).text;
      if (fits) add_names(row, same, cli::dashed);
    }
  }

  void add_own(const OptionSpec& row) { add_names(row, cli::help_line(row), cli::dashed); }

  /// Adds all names that match, or the first one if only dashes are typed. Long names have one dash or two.
  void add_names(const OptionSpec& row, const std::string& about,
                 const std::function<std::string(string_view)>& spelled) {
    const bool any = typed_.find_first_not_of('-') == typed_.npos;
    bool added = false;
    cli::each_name(any && !row.shown.empty() ? row.shown : row.names, [&](string_view name) {
      std::string word = spelled(name.substr(name.starts_with('!') ? 1 : 0));
      if (!any && word.size() > 3 && word.starts_with("--") && !typed_.starts_with("--")) word.erase(0, 1);
      if (!word.starts_with(typed_) || (any && added)) return;
      add(std::move(word), about);
      added = true;
    });
  }

  /// The values of an option. `option`: the part of the word before the value, "--color=" or empty.
  void add_values(const OptionSpec& row, string_view option) {
    const string_view kind = row.value_name;
    const bool by_host = row.name() == "host" || kind == "HOSTS";
    const size_t last = row.joins ? typed_.rfind(',') : kind == "HOSTS" ? typed_.rfind('@') : typed_.npos;
    const std::string start(last == typed_.npos ? option : typed_.substr(0, last + 1));
    const auto add_words = [&](const std::vector<std::string>& words) {
      if (start.size() * words.size() > kMostRepeated) return;
      for (const std::string& word : words) add(start + word, "");
    };
    if (row.choices) add_words(row.choices());
    if (by_host) add_words(hosts());
    for (const std::string& word : split(kind, '|')) {  // "N|share"
      const bool literal = kind.find('|') != kind.npos && !(word.front() >= 'A' && word.front() <= 'Z');
      if (literal) add(start + word, "");
    }
    const bool file_template = kind == "TEMPLATE" && row.name().ends_with("-file");
    if (kind.starts_with("FILE") || kind == "PATH" || file_template) made_.by_shell = "files";
    if (kind.starts_with("DIR")) made_.by_shell = "directories";
  }

  /// The hosts in the hostfile of the line, else in the user's hostfile.
  std::vector<std::string> hosts() const {
    std::string file = hostfile_;
    const auto preferences = file.empty()
                                 ? cli::read_preferences(nullptr, sources_.context, {cli::find_known_option, {}})
                                 : cli::Preferences();
    if (!preferences) return {};
    for (const char* name : {"default-hostfile", "hostfile"}) {
      for (const cli::ParsedOption& given : preferences->given) {
        if (given.spec->name() == name) file = given.value;
      }
    }
    if (file.starts_with("~/")) file.replace(0, 1, filled_variable(sources_.context.environment, "HOME").value_or("~"));
    std::vector<std::string> names;
    const auto path = cli::absolute_path(file, sources_.context.cwd);
    const auto text = sources_.context.read(path.value_or(""));
    const auto entries = hosts::parse_hostfile(text.value_or(""), file);
    if (!entries) return names;
    std::set<string_view> known;
    for (const hosts::HostEntry& entry : *entries) {
      if (known.insert(entry.name).second) names.push_back(entry.name);
    }
    return names;
  }

  const Sources& sources_;
  const Words before_;
  const string_view typed_;  ///< the word at the cursor, up to the cursor
  std::string hostfile_;     ///< of the line, as typed
  bool done_ = false;        ///< the candidates are complete
  Completion made_;
};

}  // namespace

Completion complete(Words words, const Sources& sources) {
  return words.empty() ? Completion() : Completer(words, sources).complete();
}

std::string to_text(const Completion& completion) {
  std::string text;
  for (const Candidate& each : completion.candidates) text += each.word + '\t' + each.about + '\n';
  return text + ':' + completion.by_shell + '\n';
}

}  // namespace dlaunch::completion
