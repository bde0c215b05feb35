// Reads the configuration of a host from OpenSSH's own client (`ssh -G`). Blocks until the client answers, the limit is
// over or `ended` is readable; runs in the host's own thread.
#pragma once

#include <chrono>
#include <string>

#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

struct OpenSshAnswer {
  bool installed = true;
  std::string text;     ///< the output; empty after a failure
  std::string trouble;  ///< the reason of the failure, from ssh's stderr
};

OpenSshAnswer ask_openssh(const std::string& host, const HostOverrides& overrides, const SshContext& context,
                          std::chrono::milliseconds limit, int ended);

}  // namespace dlaunch::transport::ssh
