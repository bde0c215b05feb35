// Ranks of an LSF job are bound to the CPUs that LSF names for each.
#pragma once

#include "cli/options.h"
#include "cli/resolved_options.h"

namespace dlaunch::cli {

/// Places the ranks of a job in LSF as LSB_AFFINITY_HOSTFILE says, unless the options name the hosts or say where ranks
/// go or are bound, or there are more ranks than its lines. `options` has its programs.
Result<void> follow_lsf_affinity(const ResolvedOptions& effective, const ProcessContext& context, Options& options);

}  // namespace dlaunch::cli
