// What this job's surroundings say of how its hosts are taken back, for --checkpoint-signal (job/preemption.h).
#pragma once

#include "cli/options.h"

namespace dlaunch::app {

/// Fills in how long ranks have where the user has not said it, and whether a person may be there.
void settle_checkpoint(cli::Options& options);

}  // namespace dlaunch::app
