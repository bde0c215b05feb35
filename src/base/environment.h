// Lookup of variables in lists of NAME=VALUE entries.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

std::string_view variable_name(std::string_view entry);

/// Returns nullopt for an unset variable. The last entry of a name counts, as for the ranks.
std::optional<std::string> variable(const std::vector<std::string>& environment, std::string_view name);

/// Like variable(); a value of blanks only counts as unset.
std::optional<std::string> filled_variable(const std::vector<std::string>& environment, std::string_view name);

/// PATH, or the default path of execvp.
std::string search_path(const std::vector<std::string>& environment);

/// The environment of this process.
std::vector<std::string> own_environment();

}  // namespace dlaunch
