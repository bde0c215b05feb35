// Variables among NAME=VALUE entries: the one way to look one up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

std::string_view variable_name(std::string_view entry);

/// Nullopt when it is unset. Of two of one name it is the last, which is what the ranks get.
std::optional<std::string> variable(const std::vector<std::string>& environment, std::string_view name);

/// Likewise; one of blanks only counts as unset.
std::optional<std::string> filled_variable(const std::vector<std::string>& environment, std::string_view name);

/// PATH, or where execvp looks without it.
std::string search_path(const std::vector<std::string>& environment);

/// This process's own.
std::vector<std::string> own_environment();

}  // namespace dlaunch
