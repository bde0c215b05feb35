// Runs a command line such as `ssh -G` or `scontrol` and returns its stdout. Blocks until the command closes stdout,
// the limit is over or `ended` is readable. Callers that must not block use their own thread.
#pragma once

#include <chrono>
#include <string>

namespace dlaunch::transport {

struct CommandAnswer {
  std::string text;     ///< stdout; empty if the command was too slow
  std::string trouble;  ///< the last lines of stderr, or the reason of the failure
};

/// `ended`: a descriptor, or -1. The command gets no stdin. If this process ends first, the command is killed.
CommandAnswer ask_command(const std::string& line, std::chrono::milliseconds limit, int ended = -1);

}  // namespace dlaunch::transport
