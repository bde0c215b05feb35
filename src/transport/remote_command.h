// The command line that reaches another host, as /bin/sh takes it. PURE.
#pragma once

#include <string>
#include <string_view>

#include "dlaunch/host.h"

namespace dlaunch::transport {

/// The user's own command line (--exec): {host} becomes the host's name, quoted where it must be.
std::string exec_command(std::string_view line, const plan::Host& host);

/// For a person who is to do by hand what could not be done: what runs the script on its stdin on that host. `exec`:
/// the user's own command line; empty: ssh.
std::string shell_there(std::string_view exec, const plan::Host& host);

}  // namespace dlaunch::transport
