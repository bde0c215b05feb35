// --include, --exclude and --devices: which hosts and devices of an allocation may be used. Pure.
//
// host:0,2-3@host2 is devices 0, 2 and 3 of host and all of host2; node[1-4]:0 is device 0 of each.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::allocate {

enum class Filter { include, exclude };

/// Whether a name that the allocation does not have means this machine ("localhost" where it is listed by another).
using MeansHere = std::function<bool(const std::string& name)>;

/// include leaves only what is named, in the allocation's order of hosts and the text's order of devices; exclude takes
/// what is named away. A host or device that is not there is an Error, and so is what would leave no host. An Error has
/// no `where`: that is the option as typed.
Result<void> filter_devices(plan::Allocation& allocation, Filter filter, std::string_view text,
                            const MeansHere& means_here);

/// "[4,8)", "4-7" or "0,2-3", in the text's order. An Error has no `where`.
Result<std::vector<int>> parse_devices(std::string_view text);

/// --devices: leaves these of each host's devices, in this order. A host whose devices are not known gets them; one
/// that lacks any is an Error.
Result<void> use_devices(plan::Allocation& allocation, const std::vector<int>& devices);

/// Takes the other hosts out, and their entries out of the sequence. `keep`: one for each. False when none is left.
bool keep_only(plan::Allocation& allocation, const std::vector<bool>& keep);

}  // namespace dlaunch::allocate
