#include "cli/config_file.h"

// Header-only: a shared library would make each start slower.
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

constexpr std::string_view kBare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.:";
constexpr const char* kInvalidValue = "invalid value: expected a number, true, false or a string in quotes";
constexpr const char* kDuplicate = "duplicate key \"";

Error malformed(std::string what, std::string why = "") {
  return {.where = "",
          .what = std::move(what),
          .why = std::move(why),
          .hint = "write name = value, such as grace = 10 or label = \"[{rank}] \""};
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

/// Returns a value without quotes; empty if the value has quotes, or if more than a comment follows.
std::string_view bare_value(std::string_view line) {
  const std::string_view value = value_in(line);
  const std::string_view word = value.substr(0, value.find_first_not_of(kBare));
  const std::string_view rest = trim(value.substr(word.size()));
  return rest.empty() || rest.front() == '#' ? word : std::string_view();
}

/// Adds quotes to values such as never, 010 and 100:00:00, which TOML rejects without quotes.
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

std::string problem_of(std::string_view description, std::string_view line) {
  const auto has = [description](std::string_view words) { return description.find(words) != description.npos; };
  const std::string_view value = value_in(line);
  if (has("utf-8")) return "invalid character: expected UTF-8";
  if (has("cannot redefine")) return kDuplicate + std::string(name_in(line)) + '"';
  if (has("escape sequence")) return "unknown escape in a string: expected single quotes around text with backslashes";
  if (has("string: ")) return "missing closing quote, or a control character in a string";
  if (line.find('=') == line.npos) return "invalid line: expected name = value";
  if (name_in(line).empty()) return "missing key before =";
  return value.starts_with('"') || value.starts_with('\'') ? "unexpected text after the value" : kInvalidValue;
}

/// The Error with toml++'s description as the reason, without the prefix "Error while parsing …: ".
Error malformed(const toml::parse_error& error, std::string_view line) {
  const std::string_view description = error.description();
  const size_t colon = description.find(": ");
  std::string why(colon == description.npos ? description : description.substr(colon + 2));
  why += " at column " + std::to_string(error.source().begin.column);
  Error result = malformed(problem_of(description, line), std::move(why));
  if (result.what.starts_with(kDuplicate)) result.hint = "remove one of the lines";
  return result;
}

Result<const OptionSpec*> preference(std::string_view name, const FindOption& find) {
  const FoundOption found = find(name);
  const bool canonical = found.spec && found.spec->name() == name;
  if (canonical && found.spec->preference) return found.spec;
  if (canonical) {
    return fail({.where = "",
                 .what = "not supported: key \"" + std::string(name) + '"',
                 .why = "the config file cannot set this option",
                 .hint = "write " + dashed(name) + " on the command line"});
  }
  std::string hint;
  if (found.spec) {
    hint = "use " + std::string(found.spec->name());
  } else if (const auto near = nearest_preference(name, false)) {
    hint = "use " + *near;
  }
  return fail({.where = "", .what = "unknown key \"" + std::string(name) + '"', .why = "", .hint = hint});
}

/// Returns the text of a value. A number and a time (00:05:00) keep the digits of the file.
Result<std::string> text_of(const toml::node& node, std::string_view line) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (node.is_number() || node.is_boolean() || node.is_time()) return std::string(bare_value(line));
  return fail(malformed(node.is_table() ? "not supported: tables" : kInvalidValue));
}

Result<ParsedOption> read_setting(std::string_view name, const toml::node& node, std::string_view line,
                                  const FindOption& find) {
  const auto text = TRY(text_of(node, line));
  const auto spec = TRY(preference(name, find));
  auto value = TRY(preference_value(*spec, text));
  return ParsedOption{spec, std::move(value), std::string(name), "", Source::config_file};
}

}  // namespace

Result<std::vector<ParsedOption>> parse_config(std::string_view text, const std::string& path, const FindOption& find) {
  TRY(check_text(text, path));
  const auto place = [&](toml::source_index line) { return path + ":" + std::to_string(line); };
  const auto at_line = [&](toml::source_index line, Error error) {
    error.where = place(line);
    return fail(std::move(error));
  };
  std::string lines(text);
  const toml::parse_result parsed = parse_lenient(lines);
  if (!parsed) {
    const toml::source_index line = parsed.error().source().begin.line;
    return at_line(line, malformed(parsed.error(), line_at(lines, line)));
  }
  std::vector<ParsedOption> settings;
  for (const auto& [key, node] : parsed.table()) {
    const toml::source_index line = key.source().begin.line;
    auto given = read_setting(key.str(), node, line_at(lines, line), find);
    if (!given) return at_line(line, given.error());
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
      return bad_value(text, "value", "true or false");
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
