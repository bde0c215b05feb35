// This user and machine as ssh sees them: by the password database, not by the environment.
#pragma once

#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

SshContext read_process_context();

}  // namespace dlaunch::transport::ssh
