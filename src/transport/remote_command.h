// The command lines that reach other hosts, as /bin/sh takes them. PURE.
#pragma once

#include <string>
#include <string_view>

#include "plan/allocation.h"

namespace dlaunch::transport {

/// How a host's key is judged: as ssh's StrictHostKeyChecking yes, accept-new, no.
enum class HostKey { strict, accept_new, off };

/// OpenSSH's client, which reads the user's own configuration and never prompts.
std::string ssh_command(const plan::Host& host, HostKey host_key);

/// The user's own command line (--exec): {host} becomes the host's name, quoted where it must be.
std::string exec_command(std::string_view line, const plan::Host& host);

}  // namespace dlaunch::transport
