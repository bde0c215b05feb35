// Text of samples for a person. PURE. Names from a process are escaped.
#pragma once

#include <cstddef>
#include <string>

#include "stacks/sample.h"

namespace dlaunch::stacks {

/// The position of a thread: one line per frame, innermost first, without addresses and arguments. Equal for two
/// threads in the same functions. Empty without frames.
std::string place_of(const ThreadStack& thread);

/// "running", "blocked in futex_do_wait", "waiting for a disk or a device", …
std::string state_of(const ThreadStack& thread);

/// One line for the process, then its threads with whole paths, grouped by equal stacks. Without `all_threads`, only
/// the main thread. Ends with a remark about further threads after `most` bytes.
std::string picture_of(const Sample& sample, bool all_threads, std::size_t most);

}  // namespace dlaunch::stacks
