#include "base/environment.h"

#include <unistd.h>

#include "base/text.h"

namespace dlaunch {

std::string_view variable_name(std::string_view entry) { return entry.substr(0, entry.find('=')); }

std::optional<std::string> variable(const std::vector<std::string>& environment, std::string_view name) {
  std::optional<std::string> value;
  for (const std::string& entry : environment) {
    const bool same = entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
    if (same) value = entry.substr(name.size() + 1);
  }
  return value;
}

std::optional<std::string> filled_variable(const std::vector<std::string>& environment, std::string_view name) {
  auto value = variable(environment, name);
  return value && !trim(*value).empty() ? value : std::nullopt;
}

std::string search_path(const std::vector<std::string>& environment) {
  return filled_variable(environment, "PATH").value_or("/usr/local/bin:/usr/bin:/bin");
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry; ++entry) entries.emplace_back(*entry);
  return entries;
}

}  // namespace dlaunch
