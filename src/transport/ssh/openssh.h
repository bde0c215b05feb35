// Asks OpenSSH's own client what its configuration says of a host (`ssh -G`). It blocks until the client has answered,
// its time is over or `ended` is readable, so it runs in a host's own thread.
#pragma once

#include <chrono>
#include <string>

#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

struct OpenSshAnswer {
  bool installed = true;
  std::string text;     ///< what it printed; empty when it failed
  std::string trouble;  ///< why it failed, as it said it
};

OpenSshAnswer ask_openssh(const std::string& host, const HostOverrides& said, const SshContext& context,
                          std::chrono::milliseconds limit, int ended);

}  // namespace dlaunch::transport::ssh
