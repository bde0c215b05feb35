#include "cli/preferences.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/config_file.h"
#include "cli/values.h"
#include "output/label.h"

namespace dlaunch::cli {
namespace {

constexpr std::string_view kPrefix = "DLAUNCH_";

/// Variables of a rank. A dlaunch inside a dlaunch job inherits these variables; they are never options.
constexpr std::array<std::string_view, 12> kIdentity{"RANK",      "SIZE",      "LOCAL_RANK", "LOCAL_SIZE",
                                                     "NODE_RANK", "NUM_NODES", "HOST",       "DEVICE",
                                                     "JOB_ID",    "WORLD",     "FAKE_HOST",  "ROUND"};
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

/// Checks DLAUNCH_ATTEMPT. allocate/job_life.h reads it.
Result<void> check_attempt(const std::string& name, std::string_view value) {
  if (value.empty() || whole_number(value, 0, kMostAttempts)) return {};
  return fail({name, "invalid attempt number", "expected 0 for the first attempt, 1 for the next attempt",
               "set a number, or remove the variable"});
}

Result<void> read_variable(const std::string& name, std::string_view value, const FindOption& find,
                           Preferences& preferences) {
  const std::string_view suffix = std::string_view(name).substr(kPrefix.size());
  if (std::find(kIdentity.begin(), kIdentity.end(), suffix) != kIdentity.end() || suffix == "CONFIG") return {};
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
  const auto text = context.read_file(where.path);
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
  if (given.spec->takes == Arity::maybe_value && given.value.empty()) {
    return std::string(output::kDefaultLabel);
  }
  return given.value;
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
