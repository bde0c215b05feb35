// Connections through other hosts: the command for ProxyJump, and the meaning of a proxy command's last words. PURE.
#pragma once

#include <string>
#include <string_view>

#include "transport/ssh/config.h"
#include "transport/transport.h"

namespace dlaunch::transport::ssh {

/// The command by which ssh goes through other hosts, one hop after the other; here it never prompts.
std::string jump_command(const HostConfig& config, plan::HostKey host_key);

/// The last lines that a command printed: where there are several, the first says where, the last what.
std::string last_words(std::string_view said);

/// `end` is that of a session without a handshake, `said` all that the command wrote to its stderr.
Disconnect blame_command(Disconnect end, std::string_view said);

}  // namespace dlaunch::transport::ssh
