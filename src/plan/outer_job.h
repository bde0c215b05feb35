// The variables of a launcher that started dlaunch.
#pragma once

#include <string_view>

namespace dlaunch::plan {

/// Whether the variable is one with which the launcher of an outer job (mpirun, srun, torchrun, horovodrun, msrun, …)
/// tells a process who it is. A rank that found it would take itself for a member of that job. Settings of the user
/// with a launcher's prefix are none: HOROVOD_CYCLE_TIME, OMPI_MCA_btl, SLURM_JOB_ID.
bool left_by_outer_job(std::string_view name);

}  // namespace dlaunch::plan
