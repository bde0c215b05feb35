// What Ascend's driver says of the devices' addresses: hccn_tool's output and /etc/hccn.conf. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::ranktable {

/// The address in the output of `hccn_tool -i N -ip -g`: "ipaddr:192.168.100.101". None when it holds none.
std::optional<std::string> parse_hccn_tool(std::string_view output);

/// The `address_N=IP` lines of hccn.conf, by N; what is no address is left out.
std::map<long, std::string> parse_hccn_conf(std::string_view text);

}  // namespace dlaunch::ranktable
