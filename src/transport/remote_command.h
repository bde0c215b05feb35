// The /bin/sh command line that connects to another host. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/host.h"

namespace dlaunch::transport {

/// Expands a command line of the user (--exec) or of a resource manager: {host} becomes the host name, quoted if
/// needed; {step} becomes Reach::step, if set.
std::string exec_command(std::string_view line, const plan::Host& host);

/// A resource manager's command for all these hosts: {count} becomes their number, {hosts} their names, {steps} their
/// Reach::step values. With {hosts}, {step} becomes the Reach::step of all these hosts.
std::string group_command(std::string_view line, const std::vector<plan::Host>& hosts);

/// The command that runs a script from its stdin on the host, for a user who repeats a failed step by hand. `exec`: the
/// user's command line; empty: ssh.
std::string shell_there(std::string_view exec, const plan::Host& host);

}  // namespace dlaunch::transport
