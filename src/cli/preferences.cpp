#include "cli/preferences.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/values.h"

// Header-only: a shared library would make each start slower.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

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

namespace dlaunch::cli {
namespace {

constexpr std::string_view kPrefix = "DLAUNCH_";

/// Variables of a rank. A dlaunch inside a dlaunch job inherits these variables; they are never options.
constexpr std::array<std::string_view, 12> kIdentity{"RANK",      "SIZE",      "LOCAL_RANK", "LOCAL_SIZE",
                                                     "NODE_RANK", "NUM_NODES", "HOST",       "DEVICE",
                                                     "JOB_ID",    "WORLD",     "FAKE_HOST",  "ROUND"};
/// Other variables of dlaunch: of the config file, and of the Python package.
constexpr std::array<std::string_view, 3> kOthers{"CONFIG", "BIN", "PYTHON_CALL"};
constexpr int kMostAttempts = 1000000;

/// "ON_FAILURE" to "on-failure".
std::string option_name(std::string_view suffix) {
  std::string name(suffix);
  for (char& c : name) c = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

std::string variable_of(std::string_view option) {
  std::string name(kPrefix);
  for (const char c : option) name += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
  return name;
}

bool takes_variable(const OptionSpec& spec) { return spec.preference || spec.by_variable; }

/// The note about a DLAUNCH_* variable without effect. `spec`: the option with the variable's name, or null.
std::string without_effect(const std::string& name, const OptionSpec* spec, std::string_view option) {
  const std::string what = escaped(name) + " has no effect: ";
  if (spec && takes_variable(*spec)) return what + "use " + variable_of(spec->name());
  if (spec) return what + "only the command line can set " + dashed(spec->name());
  const auto near = nearest_preference(option, true);
  return what + "unknown option" + (near ? "; use " + variable_of(*near) : "");
}

/// Checks DLAUNCH_ATTEMPT. place/place.h reads it.
Result<void> check_attempt(const std::string& name, std::string_view value) {
  if (value.empty() || whole_number(value, 0, kMostAttempts)) return {};
  return fail({name, "invalid attempt number", "expected 0 for the first attempt, 1 for the next attempt",
               "set a number, or remove the variable"});
}

Result<void> read_variable(const std::string& name, std::string_view value, const FindOption& find,
                           Preferences& preferences) {
  const std::string_view suffix = std::string_view(name).substr(kPrefix.size());
  if (std::find(kIdentity.begin(), kIdentity.end(), suffix) != kIdentity.end()) return {};
  if (std::find(kOthers.begin(), kOthers.end(), suffix) != kOthers.end()) return {};
  if (suffix == "ATTEMPT") return check_attempt(name, value);
  const std::string option = option_name(suffix);
  const OptionSpec* spec = find(option).spec;
  if (!spec || !takes_variable(*spec) || variable_of(spec->name()) != name) {
    preferences.ignored.push_back(name);
    preferences.notes.push_back(without_effect(name, spec, option));
    return {};
  }
  if (value.empty()) return {};
  const auto text = preference_value(*spec, value);
  if (!text) {
    Error error = text.error();
    error.where = name;
    return fail(std::move(error));
  }
  preferences.given.push_back(
      {.spec = spec, .value = *text, .spelled = name, .origin = name, .source = Source::variable});
  return {};
}

struct ConfigPath {
  std::string path;  ///< empty: no config file
  bool named = false;
};

Result<ConfigPath> config_path(const ParsedOption* config, const ProcessContext& context) {
  const auto from_variable = filled_variable(context.environment, "DLAUNCH_CONFIG");
  if (config || from_variable) {
    auto path = absolute_path(config ? config->value : *from_variable, context.cwd);
    if (path) return ConfigPath{*std::move(path), true};
    Error error = path.error();
    error.where = config ? config->spelled : "DLAUNCH_CONFIG";
    return fail(std::move(error));
  }
  // The XDG specification requires to ignore a relative path.
  const auto xdg = filled_variable(context.environment, "XDG_CONFIG_HOME");
  if (xdg && xdg->starts_with('/')) return ConfigPath{*xdg + "/dlaunch/config.toml"};
  const auto home = filled_variable(context.environment, "HOME");
  if (home && home->starts_with('/')) return ConfigPath{*home + "/.config/dlaunch/config.toml"};
  return ConfigPath{};
}

/// The option for a convention of other programs.
ParsedOption by_convention(std::string_view option, std::string_view value, std::string_view origin) {
  return {.spec = find_option(option).spec,
          .value = std::string(value),
          .spelled = std::string(origin),
          .origin = std::string(origin),
          .source = Source::convention};
}

Result<void> read_config(const ParsedOption* config, const ProcessContext& context, const FindOption& find,
                         Preferences& preferences) {
  const auto where = TRY(config_path(config, context));
  if (where.path.empty()) return {};
  const auto text = context.read(where.path);
  if (!text) {
    if (!where.named && text.error().missing) return {};
    return fail(text.error().error);
  }
  auto settings = TRY(parse_config(*text, where.path, find));
  preferences.given.insert(preferences.given.end(), settings.begin(), settings.end());
  preferences.file = where.path;
  return {};
}

}  // namespace

Result<Preferences> read_preferences(const ParsedOption* config, const ProcessContext& context,
                                     const ForeignPreferences& foreign) {
  Preferences preferences;
  if (filled_variable(context.environment, "NO_COLOR")) {  // https://no-color.org: any value except an empty value
    preferences.given.push_back(by_convention("color", "never", "NO_COLOR"));
  }
  for (const place::ManagerJob& job : context.place.jobs) {
    for (const auto& [option, value] : job.manager->defaults) {
      preferences.given.push_back(by_convention(option, value, job.manager->name));
    }
  }
  TRY(read_config(config, context, foreign.find, preferences));
  std::ranges::copy(foreign.variables, std::back_inserter(preferences.given));
  for (const std::string& line : context.environment) {
    if (!line.starts_with(kPrefix)) continue;
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    TRY(read_variable(line.substr(0, equals), std::string_view(line).substr(equals + 1), foreign.find, preferences));
  }
  return preferences;
}

namespace {

struct Row {
  std::string name;
  std::string value;
  std::string from;
};

std::string shown_value(const ParsedOption& given) {
  if (given.spec->takes != Arity::maybe_value) return given.value;
  if (given.value.empty()) return std::string(given.spec->bare);
  return given.value == "false" ? "off" : given.value;
}

/// All options of the job, except --help and --show-config.
std::vector<Row> rows_of(const ResolvedOptions& effective) {
  std::vector<Row> rows;
  for (size_t i = 0; i < option_table().size(); ++i) {
    const OptionSpec& spec = option_table()[i];
    const std::optional<ParsedOption>& given = effective.rows()[i];
    if (spec.per_program() || spec.takes == Arity::show || spec.name() == "show-config") continue;
    Row row{std::string(spec.name()), std::string(spec.standard), "default"};
    if (row.value.empty()) row.value = spec.takes == Arity::nothing ? "false" : "none";
    if (given) row.value = shown_value(*given), row.from = given->origin;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string as_text(const std::vector<Row>& rows, const Preferences& preferences) {
  size_t name_width = 0;
  size_t value_width = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, row.name.size());
    value_width = std::max(value_width, row.value.size());
  }
  std::string text = "config file: " + (preferences.file.empty() ? "none" : preferences.file) + '\n';
  for (const Row& row : rows) {
    text += row.name + std::string(name_width + 2 - row.name.size(), ' ') + row.value +
            std::string(value_width + 2 - row.value.size(), ' ') + row.from + '\n';
  }
  for (const std::string& name : preferences.ignored) text += "ignored: unknown variable \"" + name + "\"\n";
  return text;
}

std::string as_json(const std::vector<Row>& rows, const Preferences& preferences) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["config_file"] = preferences.file.empty() ? Json() : Json(preferences.file);
  json["options"] = Json::array();
  for (const Row& row : rows) json["options"].push_back({{"name", row.name}, {"value", row.value}, {"from", row.from}});
  json["ignored"] = preferences.ignored;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string show_config(const ResolvedOptions& effective, const Preferences& preferences, Format format) {
  const std::vector<Row> rows = rows_of(effective);
  return format == Format::json ? as_json(rows, preferences) : as_text(rows, preferences);
}

}  // namespace dlaunch::cli
