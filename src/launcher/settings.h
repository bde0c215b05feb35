// What the launcher itself needs to know of the user's wishes. A value.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "dlaunch/output.h"
#include "dlaunch/request.h"

namespace dlaunch::launcher {

/// Whose stdin the launcher's stdin is.
struct LauncherSettings {
  output::OutputSettings output;
  plan::StdinTarget stdin_target;
  std::chrono::milliseconds grace{5000};
  bool oversubscribe = false;
  /// Both sides say that they live this often; three misses end the link.
  std::chrono::milliseconds heartbeat{5000};
  /// For a shell on a host to become an agent; while the agent's bytes go there, from one piece to the next.
  std::chrono::milliseconds ready_wait{30000};
  /// An archive (wire/archive.h), never empty, whose files go into each rank's directory; null: none.
  std::shared_ptr<const std::string> staged = nullptr;
  bool save_env = false;  ///< each rank's environment goes to env.log in its directory
  /// So long hosts that are not up are tried again.
  std::chrono::milliseconds wait_hosts{0};
  int hosts_at_once = 64;  ///< being reached; sshd, name servers and our own file descriptors have limits
};

}  // namespace dlaunch::launcher
