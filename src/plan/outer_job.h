// What the launcher of an outer job (mpirun, srun, torchrun, horovodrun, msrun, …) leaves in the environment of its
// processes to tell each who it is. A rank that found it would take itself for a member of that job. Pure.
#pragma once

#include <string_view>

namespace dlaunch::plan {

/// Settings of the user that share a launcher's prefix are none of it: HOROVOD_CYCLE_TIME, OMPI_MCA_btl, SLURM_JOB_ID.
bool left_by_outer_job(std::string_view name);

}  // namespace dlaunch::plan
