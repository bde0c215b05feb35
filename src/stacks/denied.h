// Why a process may not be looked into, and the one thing to do.
#pragma once

#include <sys/types.h>

#include <string>

namespace dlaunch::stacks {

/// For a process whose memory was refused to us.
std::string why_denied(pid_t pid);

}  // namespace dlaunch::stacks
