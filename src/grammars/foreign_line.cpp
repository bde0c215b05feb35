#include "grammars/foreign_line.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "base/try.h"
#include "grammars/launcher_job.h"
#include "grammars/launchers.h"

namespace dlaunch::cli {
namespace {

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// Returns the words after the launcher's subcommand.
Result<std::span<const std::string>> after_subcommand(const LauncherSpec& launcher,
                                                      std::span<const std::string> words) {
  if (launcher.subcommand.empty() || (!words.empty() && asks_for_help(words.front()))) return words;
  if (!words.empty() && words.front() == launcher.subcommand) return words.subspan(1);
  const std::string wanted = std::string(launcher.name) + " " + std::string(launcher.subcommand);
  return fail({.where = "",
               .what = "not supported: " + std::string(launcher.name) + (words.empty() ? "" : " " + words.front()),
               .why = "dlaunch replaces only " + wanted,
               .hint = "write " + wanted + " …, or run the original launcher"});
}

}  // namespace

Result<Arguments> read_foreign_line(const LauncherSpec& launcher, std::span<const std::string> words,
                                    const ProcessContext& context, std::vector<std::string>& notes) {
  const size_t own = own_options_before(words, launcher);
  auto arguments = TRY(parse_arguments(words.first(own)));
  if (arguments.show) return arguments;
  const auto rest = TRY(after_subcommand(launcher, words.subspan(own)));
  auto foreign = TRY(read_launcher_line(launcher, rest, context.environment));
  if (foreign.show) {
    arguments.show = find_option(foreign.show->name()).spec;
    return arguments;
  }
  std::ranges::move(foreign.notes, std::back_inserter(notes));
  LauncherJob job(launcher, foreign, context, notes);
  job.add_equals();
  TRY(launcher.make(job));
  arguments.unset = job.forgotten();
  Group group = job.take();
  if (!arguments.groups.empty()) std::ranges::move(arguments.groups.front().options, std::back_inserter(group.options));
  arguments.groups = {std::move(group)};
  return arguments;
}

std::string equivalent_line(const ResolvedOptions& resolved, const Arguments& arguments, std::string_view as) {
  std::string text = arguments.unset.empty() ? "" : "env ";
  for (const std::string& name : arguments.unset) text += "-u " + name + " ";
  text += as.empty() ? "dlaunch" : "dlaunch --as " + std::string(as);
  const auto add = [&](const ParsedOption& given) {
    if (given.spec->section == Section::inspect || given.spec->name() == "personality") return;
    text += " " + dashed(given.spec->name());
    if (given.spec->takes == Arity::value) text += " " + shell_quote(given.value);
    if (given.spec->takes == Arity::maybe_value && !given.value.empty()) text += "=" + shell_quote(given.value);
  };
  for (const std::optional<ParsedOption>& row : resolved.rows()) {
    const bool of_line = row && (row->source == Source::command_line || row->source == Source::mca_variable ||
                                 (row->source == Source::personality && as.empty()));
    if (of_line && (row->spec->takes != Arity::nothing || row->value == "true")) add(*row);
  }
  for (const Group& group : arguments.groups) {
    const bool later = &group != &arguments.groups.front();
    if (later) text += " :";
    for (const ParsedOption& given : group.options) {
      if (given.spec->per_program() || (later && given.spec->also_later)) add(given);
    }
    for (const std::string& word : group.program) text += " " + shell_quote(word);
  }
  return text;
}

}  // namespace dlaunch::cli
