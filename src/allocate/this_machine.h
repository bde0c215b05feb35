// Which names in a host list mean this machine. This is the one place that resolves names for that purpose.
//
// Known without a resolver: localhost, 127.x.x.x, ::1, our full host name and our addresses. A name that begins with
// our host name and a dot may be our full name: it is resolved, and is ours when one of its addresses is. Every other
// name is taken for another host; resolving 10,000 names would cost more than it is worth, and two names of one host
// are noticed when its agent reports.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::allocate {

struct OwnNames {
  std::vector<std::string> names;      ///< the host name; under Slurm also SLURMD_NODENAME
  std::vector<std::string> addresses;  ///< those of our interfaces, as inet_ntop writes them, without zone
};

/// The addresses of a name, as inet_ntop writes them; none when it does not resolve.
using Resolve = std::function<std::vector<std::string>(const std::string& name)>;

/// `resolve` is called only for a name that begins with our host name and a dot.
bool is_this_machine(const std::string& name, const OwnNames& own, const Resolve& resolve);

OwnNames own_names(const std::vector<std::string>& environment);

/// The address as inet_ntop writes it, without zone.
std::optional<std::string> numeric_address(const sockaddr* address);

}  // namespace dlaunch::allocate
