#include "cli/show_config.h"

#include <nlohmann/json.hpp>

#include "output/label.h"

namespace dlaunch::cli {
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
