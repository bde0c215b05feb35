// Ways through other hosts: the command for ProxyJump, and what a command on the way means by its last words. PURE.
#pragma once

#include <string>
#include <string_view>

#include "transport/ssh/config.h"
#include "transport/transport.h"

namespace dlaunch::transport::ssh {

/// As ssh itself goes through other hosts: its client makes one hop after the other, here without ever asking.
std::string jump_command(const HostConfig& config, plan::HostKey host_key);

/// The last lines of what a command said: of several the first says where, the last what.
std::string last_words(std::string_view said);

/// `end`: of a session that did not come to a handshake; `said`: all that the command wrote to its stderr.
Disconnect blame_command(Disconnect end, std::string_view said);

}  // namespace dlaunch::transport::ssh
