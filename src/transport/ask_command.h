// What a command line prints, as `ssh -G` or `scontrol`. It blocks until the command has ended its output, its time is
// over or `ended` is readable; who must not wait calls it from a thread of its own.
#pragma once

#include <chrono>
#include <string>

namespace dlaunch::transport {

struct CommandAnswer {
  std::string text;     ///< what it wrote to stdout; empty when it was too slow
  std::string trouble;  ///< its last words on stderr, or why it did not get that far
};

/// `ended`: -1, or a descriptor. The command has no input, and is killed when this process ends before it.
CommandAnswer ask_command(const std::string& line, std::chrono::milliseconds limit, int ended = -1);

}  // namespace dlaunch::transport
