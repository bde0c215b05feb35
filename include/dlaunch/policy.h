// What ends a job and how. A value.
#pragma once

#include <chrono>
#include <optional>

#include "dlaunch/error.h"

namespace dlaunch::job {

struct Policy {
  bool abort_on_failure = true;                           ///< --on-failure abort|continue
  std::chrono::milliseconds grace{5000};                  ///< between TERM and KILL
  std::optional<std::chrono::milliseconds> timeout = {};  ///< --timeout
  int timeout_exit_code = kExitTimeout;
};

}  // namespace dlaunch::job
