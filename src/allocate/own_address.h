// The address by which ranks on other hosts reach a rank on this machine.
//
// 1. The name or address of this machine in the host list, unless it does not resolve here or means this machine only
// to itself (localhost, 127.0.1.1): the user chose it, and with it the network where there are several.
// 2. The address from which the kernel would send to the first of the other hosts whose name resolves here: answers to
// it find their way back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allocate/this_machine.h"
#include "dlaunch/error.h"

namespace dlaunch::allocate {

/// The address of this machine from which the kernel would send to another.
using SourceTowards = std::function<std::optional<std::string>(const std::string& address)>;

Result<std::string> address_for_others(const std::string& own_name, const std::vector<std::string>& others,
                                       const Resolve& resolve, const SourceTowards& source_towards);

/// Asks the kernel's routes; sends nothing.
std::optional<std::string> source_towards(const std::string& address);

}  // namespace dlaunch::allocate
