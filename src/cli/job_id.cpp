#include "cli/job_id.h"

#include "sys/randomness.h"

namespace dlaunch::cli {

std::string make_job_id() { return sys::random_hex(8); }

}  // namespace dlaunch::cli
