// Binds the ranks of an LSF job to the CPUs in LSF's list. PURE, except for this file.
#pragma once

#include "cli/options.h"
#include "cli/resolved_options.h"

namespace dlaunch::cli {

/// In a job of LSF, places the ranks as in LSB_AFFINITY_HOSTFILE. Does nothing if options set the hosts, places or
/// binding, or if there are more ranks than lines. `options` has the programs.
Result<void> follow_lsf_affinity(const ResolvedOptions& effective, const ProcessContext& context, Options& options);

}  // namespace dlaunch::cli
