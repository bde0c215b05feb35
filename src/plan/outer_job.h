// Recognizes the variables of a launcher around dlaunch.
#pragma once

#include <string_view>

namespace dlaunch::plan {

/// Whether the launcher of an outer job (mpirun, srun, torchrun, horovodrun, msrun, …) uses this variable to identify a
/// process. A rank with such a variable would join the outer job. User settings with a launcher's prefix are not
/// included: HOROVOD_CYCLE_TIME, OMPI_MCA_btl, SLURM_JOB_ID.
bool left_by_outer_job(std::string_view name);

}  // namespace dlaunch::plan
