// Converts the agents' reports about ranks to the job's events. PURE, except that descriptors are moved.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>

#include "dlaunch/exit_status.h"
#include "dlaunch/output.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::launcher {

ExitStatus exit_status(const wire::Ended& ended);

/// "0-3,8"; empty if the launcher did not request the CPUs.
std::string folded_cpus(const wire::Started& started);

/// The read ends that arrived with the message, by stream; nullopt if the message announces more than arrived.
std::optional<std::array<sys::Fd, output::kStreams>> handed_over(const wire::Started& started,
                                                                 std::deque<sys::Fd>& fds);

}  // namespace dlaunch::launcher
