// This user and machine for ssh: from the password database, not from the environment.
#pragma once

#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

SshContext read_process_context();

}  // namespace dlaunch::transport::ssh
