// Functions for the systems that start the same command line on all nodes. Pure.
#pragma once

#include "place/manager_row.h"

namespace dlaunch::place {

/// The Error for a variable that contradicts others or has an invalid value.
tl::unexpected<Error> unknown_node(std::string_view name, const std::string& value, std::string why);

/// nullopt if the variable is not set.
Result<std::optional<int>> node_number(const Environment& environment, std::string_view name);

}  // namespace dlaunch::place
