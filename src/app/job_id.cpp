#include "app/job_id.h"

#include "sys/randomness.h"

namespace dlaunch::app {

std::string make_job_id() { return sys::random_hex(8); }

}  // namespace dlaunch::app
