// Samples as text for a person. PURE. Names from a process are escaped.
#pragma once

#include <string>

#include "stacks/sample.h"

namespace dlaunch::stacks {

/// Where a thread stands: a line for each frame, innermost first. Two threads stand at the same place when it is
/// equal: it has no addresses, and no arguments. Empty where there are no frames.
std::string place_of(const ThreadStack& thread);

/// "running", "blocked in futex_do_wait", "waiting for a disk or a device", …
std::string state_of(const ThreadStack& thread);

/// The process in a line, and below it its threads with whole paths; equal threads stand together. `all_threads`: else
/// only the main one.
std::string picture_of(const Sample& sample, bool all_threads);

}  // namespace dlaunch::stacks
