#include "cli/command_spec.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "base/try.h"
#include "cli/option_parser.h"

namespace dlaunch::cli {
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

/// hccl_tools.py uses '_' in names, dlaunch uses '-'; both are valid.
FoundOption find_in(const CommandSpec& command, std::string_view name) {
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
  OptionParser parser({.find = [&](std::string_view name) { return find_in(command, name); },
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
