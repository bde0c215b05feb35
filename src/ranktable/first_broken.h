// Whether a table that was just made holds to the rules. Of this room. Pure.
#pragma once

#include <optional>

#include "dlaunch/error.h"
#include "ranktable/rules.h"

namespace dlaunch::ranktable {

/// The first rule that `table` breaks, as an Error.
std::optional<Error> first_broken(const Json& table, Product product);

}  // namespace dlaunch::ranktable
