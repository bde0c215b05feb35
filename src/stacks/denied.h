// The reason why a process cannot be read, and the next step.
#pragma once

#include <sys/types.h>

#include <string>

namespace dlaunch::stacks {

/// For a process whose memory this process may not read.
std::string why_denied(pid_t pid);

}  // namespace dlaunch::stacks
