// HOST:PORT, as --rendezvous and the variables of other launchers give it, and the ports that a manager allows. PURE.
#pragma once

#include <string>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/port_range.h"

namespace dlaunch::dialback {

inline constexpr int kUsualPort = 29400;  ///< torchrun's for its rendezvous; what sites open for it serves us

struct Endpoint {
  std::string host;  ///< a name or an address, without brackets
  int port = kUsualPort;
  bool operator==(const Endpoint&) const = default;
};

/// HOST, HOST:PORT, ADDRESS or [ADDRESS]:PORT. An Error has no `where`.
Result<Endpoint> parse_endpoint(std::string_view text);

std::string to_string(const Endpoint& endpoint);

/// Slurm's SrunPortRange in what `scontrol show config` prints.
PortRange port_range_in(std::string_view text);

/// Whether this slurm.conf, or a file that it includes, may set it.
bool may_set_port_range(std::string_view slurm_conf);

}  // namespace dlaunch::dialback
