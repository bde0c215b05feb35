// What this job's surroundings say of how its hosts are taken back (job/preemption.h), and of the job's attempts
// before.
#pragma once

#include "cli/options.h"

namespace dlaunch::app {

/// Fills in how long ranks have where the user has not said it, and whether a person may be there.
void resolve_preemption_deadline(cli::Options& options);

/// Fills in how often the job was queued again. Files of such an attempt are none of an earlier one's: where the
/// manager does not count, the number is the first one without a directory of files.
void resolve_attempt(cli::Options& options);

}  // namespace dlaunch::app
