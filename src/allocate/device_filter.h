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

/// Whether a name that the allocation lacks means this machine, such as "localhost" where the list has another name.
using MeansHere = std::function<bool(const std::string& name)>;

/// include keeps only what is named, hosts in the allocation's order, devices in the text's; exclude removes what is
/// named. A host or device that does not exist, and removing every host, are Errors. An Error has no `where`: the
/// caller adds the option as typed.
Result<void> filter_devices(plan::Allocation& allocation, Filter filter, std::string_view text,
                            const MeansHere& means_here);

/// Parses "[4,8)", "4-7" or "0,2-3", in the text's order. An Error has no `where`.
Result<std::vector<int>> parse_devices(std::string_view text);

/// --devices: keeps these devices of each host, in this order. A host whose devices are unknown gets them; a host that
/// lacks one is an Error.
Result<void> use_devices(plan::Allocation& allocation, const std::vector<int>& devices);

/// Keeps these hosts (`keep` has an element for each) and their entries in the sequence. False when none is left.
bool keep_only(plan::Allocation& allocation, const std::vector<bool>& keep);

}  // namespace dlaunch::allocate
