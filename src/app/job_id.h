// A name for one job, unique among the jobs of this user on all hosts. Ranks carry it, and leftovers are found by it.
#pragma once

#include <string>

namespace dlaunch::app {

/// Sixteen hexadecimal digits from the kernel's random numbers.
std::string make_job_id();

}  // namespace dlaunch::app
