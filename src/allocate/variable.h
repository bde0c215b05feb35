// The value of a variable in NAME=VALUE entries; the last one where it is repeated.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::allocate {

std::optional<std::string> variable(const std::vector<std::string>& environment, std::string_view name);

}  // namespace dlaunch::allocate
