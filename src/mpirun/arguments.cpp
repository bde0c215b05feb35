#include "mpirun/arguments.h"

#include "base/try.h"
#include "cli/files.h"

namespace dlaunch::cli {

FoundOption find_known_option(std::string_view name) {
  const FoundOption found = find_option(name);
  return found.spec ? found : find_in(foreign_names(), name);
}

FoundOption find_typed_option(std::string_view name) {
  FoundOption found = find_known_option(name);
  if (!found.spec) found = find_in(familiar_names(), name);
  if (found.spec || name.find('_') == name.npos) return found;
  const std::string dashes = dashes_for_underscores(name);
  found = find_known_option(dashes);
  return found.spec ? found : find_in(familiar_names(), dashes);
}

namespace {

/// The hint for "--np4": "write --np 4". The parser accepts "-np4".
std::string attached_number(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const FoundOption found = find_typed_option(name.substr(0, digits));
  if (digits == name.size() || !found.spec || found.spec->takes != Arity::value) return "";
  return "write " + dashed(name.substr(0, digits)) + ' ' + std::string(name.substr(digits));
}

Error unknown_option(const std::string& spelled, std::string_view name, OptionOfLaunchers of_launchers) {
  if (const RefusedOption* refused = refused_option(name)) {
    return {spelled, "not supported", std::string(refused->why), std::string(refused->hint)};
  }
  if (auto error = of_launchers(spelled, name)) return *std::move(error);
  std::string hint = attached_number(name);
  if (hint.empty()) hint = did_you_mean(name);
  if (hint.empty()) hint = "run dlaunch --help for the options; -- ends the options";
  return {.where = "", .what = "unknown option \"" + spelled + '"', .why = "", .hint = std::move(hint)};
}

ParserRules rules(OptionOfLaunchers of_launchers) {
  return {.find = find_typed_option,
          .unknown = [of_launchers](const std::string& spelled,
                                    std::string_view name) { return unknown_option(spelled, name, of_launchers); },
          .groups = true};
}

Result<Group> parse_group(OptionParser& parser, std::span<const std::string>& words) {
  auto group = parser.parse(words);
  const bool nameless = group && !group->program.empty() && group->program.front().empty();
  if (!nameless) return group;
  return fail({.where = "",
               .what = "missing program",
               .why = "the first word after the options is empty",
               .hint = "check for an unset variable"});
}

Result<std::vector<Group>> parse_app_line(const TextLine& line, OptionOfLaunchers of_launchers) {
  const auto words = TRY(split_words(line.text));
  std::span<const std::string> rest(words);
  std::vector<Group> groups;
  do {
    OptionParser parser(rules(of_launchers));
    Group group = TRY(parse_group(parser, rest));
    group.where = line.where;
    groups.push_back(std::move(group));
  } while (!rest.empty());
  return groups;
}

}  // namespace

Result<Arguments> parse_arguments(std::span<const std::string> words, OptionOfLaunchers of_launchers) {
  OptionParser parser(rules(of_launchers));
  Arguments arguments;
  do {
    auto group = TRY(parse_group(parser, words));
    arguments.show = group.show;
    const bool counts = arguments.groups.empty() || !group.options.empty() || !group.program.empty();
    if (counts) arguments.groups.push_back(std::move(group));
  } while (!words.empty() && !arguments.show);
  return arguments;
}

Result<std::vector<Group>> parse_app_file(std::string_view text, const std::string& path,
                                          OptionOfLaunchers of_launchers) {
  TRY(check_text(text, path));
  std::vector<Group> groups;
  for (const TextLine& line : lines_of(text, path)) {
    auto of_line = parse_app_line(line, of_launchers);
    if (!of_line) {
      Error error = of_line.error();
      error.where = line.where + (error.where.empty() ? "" : ": " + error.where);
      return fail(std::move(error));
    }
    for (Group& group : *of_line) {
      if (!group.options.empty() || !group.program.empty()) groups.push_back(std::move(group));
    }
  }
  return groups;
}

}  // namespace dlaunch::cli
