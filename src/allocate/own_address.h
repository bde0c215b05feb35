// By which address ranks on other hosts reach a rank on this machine.
//
// 1. The name or address that the host list gives this machine, unless it is not known here or means only this machine
//    to itself (localhost, 127.0.1.1): it is what the user chose, and names a network where there are several.
// 2. The address that the kernel would send from to the first of the other hosts whose name is known here: the answers
//    to it find their way back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allocate/this_machine.h"
#include "dlaunch/error.h"

namespace dlaunch::allocate {

/// Our address on the way to this one.
using SourceTowards = std::function<std::optional<std::string>(const std::string& address)>;

Result<std::string> address_for_others(const std::string& own_name, const std::vector<std::string>& others,
                                       const Resolve& resolve, const SourceTowards& source_towards);

/// By the kernel's routes; sends nothing.
std::optional<std::string> source_towards(const std::string& address);

}  // namespace dlaunch::allocate
