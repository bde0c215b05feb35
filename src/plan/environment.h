// What a rank finds in its environment: the launcher's variables, what -x asked, and who the rank is.
//
// Later wins: the launcher's own (without what an outer dlaunch left there) < PYTHONUNBUFFERED=1 and PWD < -x in order.
// With --rank-dir PWD is each rank's own (plan/rank_dir.h).
//
// On hosts other than this machine the launcher's own variables are sent too, less those that mean this machine, its
// terminal, login or outer job (withheld_elsewhere); there the agent's login gives HOME, USER and their like. A host's
// own variables (env.NAME= in a hostfile) replace the launcher's on it. -x always wins.
//
// Where frameworks are asked for (--env-for), or a rank table, what an outer job's launcher left goes too
// (left_by_outer_job), and where --visible hides devices, the launcher's own lists of them (plan/visible.h); -x brings
// back what it names outright.
//
// Where MPI is served (plan/mpi.h), what an outer MPI job left goes as well.
//
// A name of kRankVariables that -x gives a value or names outright is the user's: the rank's own value is left out.
// A pattern ('DLAUNCH_*') brings none of those names and never PWD: they would be the outer job's, not this one's.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

/// The names that each rank gets a value of its own for, in the order in which they stand in Rank::env.
inline constexpr std::array<std::string_view, 12> kRankVariables = {
    "RANK_ID",           "RANK_SIZE",         "DEVICE_ID",          "DLAUNCH_JOB_ID",
    "DLAUNCH_RANK",      "DLAUNCH_SIZE",      "DLAUNCH_LOCAL_RANK", "DLAUNCH_LOCAL_SIZE",
    "DLAUNCH_NODE_RANK", "DLAUNCH_NUM_NODES", "DLAUNCH_HOST",       "DLAUNCH_DEVICE"};

/// Whether a variable of the launcher's own is not sent to other hosts, because it would be wrong there.
bool withheld_elsewhere(std::string_view name);

/// The name of a NAME=VALUE entry.
std::string_view variable_name(std::string_view entry);

struct AppEnvironment {
  std::vector<std::string> entries;    ///< NAME=VALUE, no name twice
  std::vector<std::string> elsewhere;  ///< the same without what is withheld from other hosts
  std::vector<std::string> chosen;     ///< names that -x set or passed on
  std::vector<std::string> notes;      ///< a line for each -x that found nothing to copy
};

AppEnvironment app_environment(const Request& request, const AppRequest& app, const std::string& wdir);

/// Fills Rank::env of every rank. The rest of the plan is complete. With a rank table DEVICE_ID is the device's number
/// among those that the rank sees, as MindSpore counts.
void add_rank_environments(Plan& plan, bool rank_table);

/// A host's own variables are the user's too, but one that each rank gets a value of its own for is not theirs to set:
/// the Error that says so, or nullopt.
std::optional<Error> refuse_own_names(const Plan& plan);

/// What the launcher of an outer job (mpirun, srun, torchrun, horovodrun, msrun, …) leaves in the environment of its
/// processes to tell each who it is. A rank that found it would take itself for a member of that job.
/// Settings of the user that share a launcher's prefix are none of it: HOROVOD_CYCLE_TIME, OMPI_MCA_btl, SLURM_JOB_ID.
bool left_by_outer_job(std::string_view name);

}  // namespace dlaunch::plan
