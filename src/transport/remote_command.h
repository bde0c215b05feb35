// The /bin/sh command line that reaches another host. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/host.h"

namespace dlaunch::transport {

/// The user's own command line (--exec), in which {host} becomes the host's name, quoted where needed; or a resource
/// manager's, in which {step} becomes Reach::step where the host has one.
std::string exec_command(std::string_view line, const plan::Host& host);

/// A resource manager's command for all of these hosts at once: {count} becomes their number, {hosts} their names,
/// {steps} what each has as Reach::step.
std::string group_command(std::string_view line, const std::vector<plan::Host>& hosts);

/// The command that runs a script from its stdin on that host, for a person who must do by hand what failed. `exec` is
/// the user's own command line; empty: ssh.
std::string shell_there(std::string_view exec, const plan::Host& host);

}  // namespace dlaunch::transport
