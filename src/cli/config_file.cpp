#include "cli/config_file.h"

// Header-only: Debian's shared library would be one more to load at each start.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/values.h"

namespace dlaunch::cli {
namespace {

constexpr std::string_view kBare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.";
constexpr const char* kValueMustBe = "the value must be a number, true, false or a string in quotes";

Error malformed(std::string what, std::string why = "") {
  return {.where = "",
          .what = std::move(what),
          .why = std::move(why),
          .hint = "write name = value, as grace = 10 or label = \"[{rank}] \""};
}

std::string_view line_at(std::string_view text, toml::source_index line) {
  for (; line > 1 && !text.empty(); --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

std::string_view name_in(std::string_view line) { return trim(line.substr(0, line.find('='))); }

std::string_view value_in(std::string_view line) {
  const size_t equals = line.find('=');
  return equals == line.npos ? std::string_view() : trim(line.substr(equals + 1));
}

/// The value of a line, if it has no quotes and only a comment follows it; else empty.
std::string_view bare_value(std::string_view line) {
  const std::string_view value = value_in(line);
  const std::string_view word = value.substr(0, value.find_first_not_of(kBare));
  const std::string_view rest = trim(value.substr(word.size()));
  return rest.empty() || rest.front() == '#' ? word : std::string_view();
}

/// Parses as if values that TOML does not allow without quotes, such as never and 010, had them.
toml::parse_result parse_lenient(std::string& text) {
  toml::parse_result parsed = toml::parse(text);
  for (size_t quoted = 0; !parsed && quoted < option_table().size(); ++quoted) {
    const std::string_view word = bare_value(line_at(text, parsed.error().source().begin.line));
    if (word.empty()) break;
    const auto at = static_cast<size_t>(word.data() - text.data());
    text.insert(at + word.size(), 1, '"').insert(at, 1, '"');
    parsed = toml::parse(text);
  }
  return parsed;
}

std::string what_is_wrong(std::string_view said, std::string_view line) {
  const auto says = [said](std::string_view words) { return said.find(words) != said.npos; };
  const std::string_view value = value_in(line);
  if (says("utf-8")) return "the file is not UTF-8";
  if (says("cannot redefine")) return std::string(name_in(line)) + " is set twice";
  if (says("escape sequence")) return "unknown escape in a string; '…' takes a backslash as it stands";
  if (says("string: ")) return "a quote is not closed on its line, or holds a control character";
  if (line.find('=') == line.npos) return "not a name = value line";
  if (name_in(line).empty()) return "unknown name before =";
  return value.starts_with('"') || value.starts_with('\'') ? "something stands after the value" : kValueMustBe;
}

/// The Error with toml++'s own text as the reason, without "Error while parsing a thing: ".
Error malformed(const toml::parse_error& error, std::string_view line) {
  const std::string_view said = error.description();
  const size_t colon = said.find(": ");
  std::string why(colon == said.npos ? said : said.substr(colon + 2));
  why += " at column " + std::to_string(error.source().begin.column);
  Error told = malformed(what_is_wrong(said, line), std::move(why));
  if (told.what.ends_with("is set twice")) told.hint = "keep one of the lines";
  return told;
}

Result<const OptionSpec*> preference(std::string_view name) {
  const FoundOption found = find_option(name);
  const bool canonical = found.spec && found.spec->name() == name;
  if (canonical && found.spec->preference) return found.spec;
  if (canonical) {
    return fail({.where = "",
                 .what = std::string(name) + " cannot have a default",
                 .why = "it belongs to one command line",
                 .hint = ""});
  }
  std::string hint;
  if (found.spec) {
    hint = "its name here is " + std::string(found.spec->name());
  } else if (const auto near = nearest_preference(name, false)) {
    hint = "did you mean " + *near + "?";
  }
  return fail({.where = "", .what = "unknown name " + std::string(name), .why = "", .hint = hint});
}

/// The value as the file has it: a number is not read and written again.
Result<std::string> text_of(const toml::node& node, std::string_view line) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (node.is_number() || node.is_boolean()) return std::string(bare_value(line));
  return fail(malformed(node.is_table() ? "tables are not used here" : kValueMustBe));
}

Result<ParsedOption> read_setting(std::string_view name, const toml::node& node, std::string_view line) {
  const auto text = TRY(text_of(node, line));
  const auto spec = TRY(preference(name));
  auto value = TRY(preference_value(*spec, text));
  return ParsedOption{spec, std::move(value), std::string(name), "", Source::config_file};
}

}  // namespace

Result<std::vector<ParsedOption>> parse_config(std::string_view text, const std::string& path) {
  TRY(check_text(text, path));
  const auto place = [&](toml::source_index line) { return path + ":" + std::to_string(line); };
  const auto told = [&](toml::source_index line, Error error) {
    error.where = place(line);
    return fail(std::move(error));
  };
  std::string lines(text);
  const toml::parse_result parsed = parse_lenient(lines);
  if (!parsed) {
    const toml::source_index line = parsed.error().source().begin.line;
    return told(line, malformed(parsed.error(), line_at(lines, line)));
  }
  std::vector<ParsedOption> settings;
  for (const auto& [key, node] : parsed.table()) {
    const toml::source_index line = key.source().begin.line;
    auto given = read_setting(key.str(), node, line_at(lines, line));
    if (!given) return told(line, given.error());
    given->origin = place(line);
    given->spelled = given->origin + ": " + given->spelled;
    settings.push_back(*std::move(given));
  }
  return settings;
}

Result<std::string> preference_value(const OptionSpec& spec, std::string_view text) {
  const bool yes = text == "true" || text == "1" || text == "yes" || text == "on";
  const bool no = text == "false" || text == "0" || text == "no" || text == "off";
  switch (spec.takes) {
    case Arity::nothing:
      if (yes || no) return std::string(yes ? "true" : "false");
      return bad_value(text, "is neither true nor false", "write true or false");
    case Arity::maybe_value:
      if (yes) return std::string();
      return std::string(no ? "false" : text);
    case Arity::count:
    case Arity::value:
    case Arity::pair:
    case Arity::assignment:
    case Arity::show:
      break;
  }
  return std::string(text);
}

}  // namespace dlaunch::cli
