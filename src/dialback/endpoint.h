// HOST:PORT, as written for --rendezvous and in variables of other launchers, and port ranges of a manager. PURE.
#pragma once

#include <string>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/port_range.h"

namespace dlaunch::dialback {

/// torchrun's default port for its rendezvous; sites that open this port also serve dlaunch
inline constexpr int kUsualPort = 29400;

struct Endpoint {
  std::string host;  ///< a name or an address, without brackets
  int port = kUsualPort;
  bool operator==(const Endpoint&) const = default;
};

/// Parses HOST, HOST:PORT, ADDRESS or [ADDRESS]:PORT. The Error has an empty `where`.
Result<Endpoint> parse_endpoint(std::string_view text);

std::string to_string(const Endpoint& endpoint);

/// Parses Slurm's SrunPortRange in the output of `scontrol show config`.
PortRange port_range_in(std::string_view text);

/// True if this slurm.conf, or an included file, may set the range.
bool may_set_port_range(std::string_view slurm_conf);

}  // namespace dlaunch::dialback
