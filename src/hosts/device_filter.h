// Applies --include, --exclude and --devices to the hosts and devices of an allocation. Pure.
//
// host:0,2-3@host2 means devices 0, 2 and 3 of host, and all of host2; node[1-4]:0 means device 0 of each.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::hosts {

enum class Filter { include, exclude };

/// Whether a name that is not in the allocation means this machine, for example "localhost".
using MeansHere = std::function<bool(const std::string& name)>;

/// include keeps the named hosts and devices: hosts in the order of the allocation, devices in the order of the text.
/// exclude removes the named hosts and devices. An unknown host or device, and a result without hosts, are Errors. An
/// Error has no `where`: the caller adds the option as typed.
Result<void> filter_devices(plan::Allocation& allocation, Filter filter, std::string_view text,
                            const MeansHere& means_here);

/// Parses "[4,8)", "4-7" or "0,2-3", in the order of the text. An Error has no `where`.
Result<std::vector<int>> parse_devices(std::string_view text);

/// --devices: keeps these devices of each host, in this order. A host with unknown devices gets these devices. A host
/// without one of these devices is an Error.
Result<void> use_devices(plan::Allocation& allocation, const std::vector<int>& devices);

/// Keeps these hosts (`keep` has one element per host) and their entries in the sequence. Returns false if no host
/// remains.
bool keep_only(plan::Allocation& allocation, const std::vector<bool>& keep);

}  // namespace dlaunch::hosts
