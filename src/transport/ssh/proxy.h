// Connections through other hosts: the command for ProxyJump, and the reason in the stderr of a proxy command. PURE.
#pragma once

#include <string>
#include <string_view>

#include "transport/ssh/config.h"
#include "transport/transport.h"

namespace dlaunch::transport::ssh {

/// The ssh command that connects through the jump hosts one after the other; never prompts.
std::string jump_command(const HostConfig& config, plan::HostKey host_key);

/// The last two lines of a command's output: the first line names the place, the last line the error.
std::string last_lines(std::string_view output);

/// Returns the reason why a session ended before its handshake: the last lines of the
/// command's stderr (`output`), or `end` if it printed nothing.
Disconnect blame_command(Disconnect end, std::string_view output);

}  // namespace dlaunch::transport::ssh
