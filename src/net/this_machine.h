// Decides if a name in a host list means this machine. No other module resolves names for this purpose.
//
// Known without a resolver: localhost, 127.x.x.x, ::1, the full host name and the addresses of this machine. A name
// that starts with the host name and a dot may be the full name: it is resolved, and means this machine if one of its
// addresses does. Every other name counts as another host: resolving 10,000 names would take too long, and agents on
// the same machine detect duplicates later.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::net {

struct OwnNames {
  std::vector<std::string> names;      ///< the host name; under Slurm also SLURMD_NODENAME
  std::vector<std::string> addresses;  ///< addresses of the interfaces in the form of inet_ntop, without zone
};

/// The addresses of a name in the form of inet_ntop; empty if the name does not resolve.
using Resolve = std::function<std::vector<std::string>(const std::string& name)>;

/// Calls `resolve` only for a name that starts with the host name and a dot.
bool is_this_machine(const std::string& name, const OwnNames& own, const Resolve& resolve);

OwnNames own_names(const std::vector<std::string>& environment);

/// The address in the form of inet_ntop, without zone.
std::optional<std::string> numeric_address(const sockaddr* address);

}  // namespace dlaunch::net
