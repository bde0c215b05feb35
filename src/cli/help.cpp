#include "cli/help.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "cli/grammar.h"

namespace dlaunch::cli {
namespace {

constexpr std::array<OptionGroup, 12> kGroups{{{Section::start, "Programs and directories"},
                                               {Section::hosts, "Hosts"},
                                               {Section::connections, "Connections to hosts"},
                                               {Section::nodes, "One command on every node"},
                                               {Section::devices, "Devices"},
                                               {Section::environment, "Environment and MPI"},
                                               {Section::output, "Output and input"},
                                               {Section::binding, "Binding to cores"},
                                               {Section::failures, "Failures, time limits and hangs"},
                                               {Section::restarts, "Restarts and preemption"},
                                               {Section::inspect, "Inspection and reports"},
                                               {Section::configuration, "Configuration and help"}}};

std::string value_of(const OptionSpec& spec) {
  if (spec.takes == Arity::value) return ' ' + std::string(spec.value_name);
  if (spec.takes == Arity::maybe_value) return "[=" + std::string(spec.value_name) + ']';
  return "";
}

}  // namespace

std::span<const OptionGroup> option_groups() { return kGroups; }

std::string spelling(const OptionSpec& spec) {
  std::string text;
  for (const std::string& name : split(spec.names, ' ')) {
    if (!text.empty()) text += ", ";
    text += dashed(std::string_view(name).substr(name.starts_with('!') ? 1 : 0));
  }
  return text + value_of(spec);
}

std::string short_spelling(const OptionSpec& spec) {
  std::string letter;
  std::string word(spec.shown);
  for (const std::string& name : split(spec.names, ' ')) {
    std::string& into = name.size() == 1 ? letter : word;
    if (into.empty() && !name.starts_with('!')) into = name;
  }
  std::string text = letter.empty() ? "" : dashed(letter);
  if (!word.empty()) text += (text.empty() ? "" : ", ") + dashed(word);
  return text + value_of(spec);
}

std::string help_line(const OptionSpec& spec) {
  std::string text(spec.help);
  if (!text.ends_with(':')) return text;
  const auto choices = spec.choices();
  for (const std::string& each : choices) text += (&each == &choices.front() ? " " : ", ") + each;
  return text;
}

std::string meaning(const OptionSpec& spec) {
  std::string text = help_line(spec);
  if (!spec.standard.empty() && spec.standard != "none") text += " (default: " + std::string(spec.standard) + ')';
  return text;
}

SameOption same_option(const OptionSpec& row) {
  const size_t equals = row.stands_for.find('=');
  const std::string_view name = row.stands_for.substr(0, equals);
  const OptionSpec* const spec = find_option(name).spec;
  std::string value(row.stands_for.substr(equals + 1));
  if (const size_t at = value.find("{}"); at != value.npos) value.replace(at, 2, row.value_name);
  const bool flag = value.empty() || spec->takes == Arity::nothing || spec->takes == Arity::count;
  return {spec, dashed(name) + (flag ? "" : ' ' + value)};
}

std::string wrapped(std::string_view text, size_t indent, size_t width) {
  const std::string margin(indent, ' ');
  std::string out;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    while (!line.starts_with(' ') && indent + line.size() > width) {
      size_t end = line.rfind(' ', width - indent);
      if (end == line.npos) end = std::min(line.find(' '), line.size());
      out.append(margin).append(line.substr(0, end)) += '\n';
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    out.append(line.empty() ? "" : margin).append(line) += '\n';
  }
  return out;
}

std::string reflowed(std::string_view text) {
  std::string out;
  bool open = false;  // the last line may continue
  for (const std::string& line : split(text, '\n')) {
    if (out.empty() && line.empty()) continue;
    const bool joins = !line.empty() && !line.starts_with(' ');
    if (!out.empty()) out += open && joins ? ' ' : '\n';
    out += line;
    open = joins;
  }
  return out;
}

std::string entry(const std::string& left, std::string_view right, size_t column) {
  std::string text = wrapped(right, column);
  std::string head = "  " + left;
  if (head.size() + 1 >= column) return head + '\n' + text;
  head.resize(column, ' ');
  return head + text.substr(column);
}

namespace {

using std::string_view;

constexpr size_t kShortColumn = 28;  // of --help
constexpr size_t kAllColumn = 34;    // of --help-all and of subcommands
constexpr size_t kNameColumn = 17;   // of topics and subcommands

constexpr string_view kDefinition =
    "dlaunch starts N copies (ranks) of a program on one or more hosts, prints their output line by line, and stops "
    "all ranks when one fails.";

constexpr string_view kExamples = R"(
Examples:
  dlaunch -n 4 --label python3 train.py
  dlaunch --hostfile hosts --env-for torch --output-filename logs python3 train.py
  dlaunch --as torchrun --nproc-per-node 8 train.py
)";

constexpr string_view kPlaces =
    "Long names may have one dash or two. -x, --env-file, --wdir and -H before the first program apply to all "
    "programs; later programs can add other values. Each program has its own -n. All other options come before the "
    "first program.";

constexpr string_view kDefaults =
    "An option's value comes from the command line, else from a variable (DLAUNCH_GRACE=10), else from "
    "~/.config/dlaunch/config.toml (grace = 10). --pty=false turns off the flag --pty.";

std::string subcommand_list() {
  std::string text;
  for (const Subcommand& subcommand : subcommand_table()) {
    text += entry(std::string(subcommand.name), subcommand.what, kNameColumn);
  }
  return text;
}

bool is_topic(const HelpPage& page) { return page.usage.empty(); }

string_view first_name(const HelpPage& page) { return page.names.substr(0, page.names.find(' ')); }

std::string topic_names() {
  std::string text;
  for (const HelpPage& page : help_pages()) {
    if (is_topic(page)) text.append(text.empty() ? "" : ", ").append(first_name(page));
  }
  return text;
}

std::string list_of_topics() {
  std::string text = "Usage: dlaunch help TOPIC|SUBCOMMAND|OPTION\n\nTopics:\n";
  for (const HelpPage& page : help_pages()) {
    if (is_topic(page)) text += entry(std::string(first_name(page)), page.title, kNameColumn);
  }
  return text + "\nSubcommands:\n" + subcommand_list();
}

/// Returns the entry of an option with its long text.
std::string long_entry(const OptionSpec& spec) {
  std::string text = meaning(spec) + '.';
  if (!spec.more.empty()) text.append(" ").append(spec.more);
  return "  " + spelling(spec) + '\n' + wrapped(text, 6);
}

/// Returns `words` with a capital letter and a full stop.
std::string sentence(string_view words) {
  std::string text = std::string(words) + '.';
  if (text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

std::string page_text(const HelpPage& page) {
  std::string text = is_topic(page) ? std::string(page.title) + "\n\n"
                                    : "Usage: " + std::string(page.usage) + '\n' + sentence(page.title) + "\n\n";
  text += wrapped(reflowed(page.text));
  if (page.options.empty()) return text;
  text += "\nOptions:\n";
  each_name(page.options, [&](string_view name) { text += long_entry(*find_option(name).spec); });
  return text;
}

string_view without_dashes(const std::string& word) {
  return string_view(word).substr(std::min(word.find_first_not_of('-'), word.size()));
}

/// Returns the name of an option without its dashes, or an empty text. A word without dashes is a long name.
string_view option_name(const std::string& word) {
  const string_view name = without_dashes(word);
  return name.size() == 1 && !word.starts_with('-') ? string_view() : name;
}

/// Returns null if `word` is not an option.
const OptionSpec* find_word(const std::string& word) {
  const OptionSpec* const spec = find_option(option_name(word)).spec;
  const bool own = spec && spec->section != Section::hidden;
  return own ? spec : nullptr;
}

/// Returns the help of another launcher's option that dlaunch accepts; empty for other words.
std::string familiar_help(const std::string& word, const FindOption& find) {
  const OptionSpec* const row = find(option_name(word)).spec;
  if (!row || row->stands_for.empty()) return {};
  const SameOption same = same_option(*row);
  return "  " + spelling(*row) + '\n' + wrapped("Accepted: the same as " + same.text + '.', 6) + '\n' +
         long_entry(*same.spec);
}

/// Returns the error for a word that is not a topic, a subcommand or an option.
tl::unexpected<Error> unknown_topic(const std::string& word) {
  const RefusedOption* const refused = word.starts_with("--") ? refused_option(without_dashes(word)) : nullptr;
  if (refused) {
    return fail({"help", "not supported: " + word, std::string(refused->why), std::string(refused->hint)});
  }
  std::string hint = "use ";
  if (word != "dlaunch" && grammar_named(word)) {
    hint += "dlaunch help migrate, or dlaunch --as " + word + " --help";
  } else {
    std::vector<std::string> known;
    for (const HelpPage& page : help_pages()) {
      each_name(page.names, [&](string_view each) { known.emplace_back(each); });
    }
    for (const Subcommand& subcommand : subcommand_table()) known.emplace_back(subcommand.name);
    if (const auto near = nearest(word, known)) hint += "dlaunch help " + *near + ", or ";
    hint += "one of: " + topic_names();
  }
  return fail({.where = "help", .what = "unknown topic \"" + word + '"', .why = "", .hint = std::move(hint)});
}

}  // namespace

std::string help_text() {
  std::string text = "Usage: dlaunch " + std::string(kUsage) + "\n       dlaunch SUBCOMMAND [args]\n\n";
  text += wrapped(kDefinition) + "\nOptions:\n";
  for (const OptionSpec& spec : option_table()) {
    if (!spec.common) continue;
    const std::string whole = meaning(spec);
    const bool fits = kShortColumn + whole.size() <= kHelpWidth;
    text += entry(short_spelling(spec), fits ? whole : help_line(spec), kShortColumn);
  }
  text += "\nSubcommands:\n" + subcommand_list() + std::string(kExamples);
  return text +
         "\nMore: dlaunch --help-all (all options), dlaunch help TOPIC, man dlaunch, docs/README.md\n"
         "Topics: " +
         wrapped(topic_names(), 8).substr(8);
}

std::string all_options() {
  std::string text = "Usage: dlaunch " + std::string(kUsage) + "\n       dlaunch SUBCOMMAND [args]\n\n";
  text += wrapped(kPlaces) + wrapped(kTimeNote) + wrapped(kDefaults);
  for (const OptionGroup& group : option_groups()) {
    text.append("\n").append(group.title).append(":\n");
    for (const OptionSpec& spec : option_table()) {
      if (spec.section == group.section) text += entry(spelling(spec), meaning(spec), kAllColumn);
    }
  }
  return text + "\nSubcommands:\n" + subcommand_list() + "\nMore: dlaunch help TOPIC, man dlaunch, docs/options.md\n";
}

std::string help_for(string_view name, Verb verb) {
  if (name == "help-man") return man_page();
  if (name == "help-markdown") return options_page();
  if (name == "help-all") return all_options();
  if (verb == Verb::hosts) return page_text(*find_help_page("hosts"));
  return verb == Verb::check ? page_text(*find_help_page("check")) : help_text();
}

Result<std::string> help_page(std::span<const std::string> words, const FindOption& find) {
  if (words.empty() || words.front() == "--help" || words.front() == "-h") return list_of_topics();
  const std::string& word = words.front();
  const auto rest = words.subspan(1);
  const Subcommand* const subcommand = find_subcommand(word);
  if (subcommand && subcommand->verb == Verb::help) return list_of_topics();
  if (!rest.empty()) {
    return fail({.where = "help " + word,
                 .what = "unexpected word \"" + rest.front() + '"',
                 .why = "",
                 .hint = "give one topic"});
  }
  if (const HelpPage* const page = find_help_page(word)) return page_text(*page);
  if (const OptionSpec* const spec = find_word(word)) return long_entry(*spec);
  if (std::string text = familiar_help(word, find); !text.empty()) return text;
  return unknown_topic(word);
}

std::string help_text(const CommandSpec& command, const std::string& path) {
  std::string text = "Usage: " + path + ' ' + std::string(command.usage) + '\n';
  for (const CommandSpec& below : command.commands) {
    text += "       " + path + ' ' + std::string(below.name) + ' ' + std::string(below.usage) + '\n';
  }
  text += wrapped(sentence(command.what));
  const auto add_options = [&](const CommandSpec& with, const std::string& title) {
    if (with.options.empty()) return;
    text += '\n' + title + ":\n";
    for (const CommandSpec::Option& option : with.options) {
      text += entry(spelling(option.row), meaning(option.row), kAllColumn);
    }
  };
  add_options(command, "Options");
  for (const CommandSpec& below : command.commands) add_options(below, std::string(below.name));
  if (!command.notes.empty()) text += '\n' + wrapped(command.notes);
  return text;
}

std::string usage_hint() { return "run dlaunch " + std::string(kUsage) + "; --help lists the options"; }

}  // namespace dlaunch::cli
