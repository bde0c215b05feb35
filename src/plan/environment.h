// Builds the environment of the ranks: the launcher's variables, the variables of -x, and the variables about the rank.
//
// Order, later entries win: the launcher's variables (without the variables of an outer dlaunch), kPythonVariables and
// PWD, then -x in order. With --rank-dir each rank has its own PWD (plan/rank_dir.h).
//
// Other hosts get the launcher's variables, too, except for variables about this machine, its terminal, login or outer
// job (withheld_elsewhere). The agent's login sets HOME, USER and similar variables there. A host's own variables
// (env.NAME= in a hostfile) replace the launcher's variables. -x always wins.
//
// With --env-for or a rank table, ranks do not get the variables of an outer job's launcher (left_by_outer_job()). If
// --visible hides devices, ranks do not get the launcher's device lists (plan/visible.h). -x NAME keeps a removed
// variable; -x with a pattern does not.
//
// If dlaunch serves MPI (plan/mpi.h), ranks do not get the variables of an outer MPI job.
//
// -x NAME keeps the user's value of a name in kRankVariables instead of the rank's value. A pattern ('DLAUNCH_*') never
// matches these names or PWD: their values would belong to the outer job.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

/// Variables with a value per rank, in the order of Rank::env.
inline constexpr std::array<std::string_view, 12> kRankVariables = {
    "RANK_ID",           "RANK_SIZE",         "DEVICE_ID",          "DLAUNCH_JOB_ID",
    "DLAUNCH_RANK",      "DLAUNCH_SIZE",      "DLAUNCH_LOCAL_RANK", "DLAUNCH_LOCAL_SIZE",
    "DLAUNCH_NODE_RANK", "DLAUNCH_NUM_NODES", "DLAUNCH_HOST",       "DLAUNCH_DEVICE"};

/// dlaunch sets these variables to 1 if they are not set. Python then does not buffer output, and prints the stacks of
/// all threads to stderr before a fault signal kills the rank.
inline constexpr std::array<std::string_view, 2> kPythonVariables = {"PYTHONUNBUFFERED", "PYTHONFAULTHANDLER"};

/// The number of the round, for each rank of a job with restarts.
inline constexpr std::string_view kRoundVariable = "DLAUNCH_ROUND";

/// How often a resource manager has requeued the job, for each rank.
inline constexpr std::string_view kAttemptVariable = "DLAUNCH_ATTEMPT";

/// Whether a variable of the launcher is wrong on other hosts and is not sent to them.
bool withheld_elsewhere(std::string_view name);

/// Whether a resource manager sets the variable per node, and an agent passes it to its ranks.
bool tells_of_node(std::string_view name);

struct AppEnvironment {
  std::vector<std::string> entries;    ///< NAME=VALUE, unique names
  std::vector<std::string> elsewhere;  ///< the entries for other hosts
  std::vector<std::string> chosen;     ///< names set or passed by -x
  std::vector<std::string> notes;      ///< one line per -x without a variable to copy
};

/// `by_manager`: Allocation::by_manager. In this case variables about the job go to all hosts. Variables about a node
/// stay on this host: the manager sets them for each agent.
AppEnvironment app_environment(const Request& request, const AppRequest& app, const std::string& wdir,
                               bool by_manager = false);

/// Replaces or adds the entry NAME=VALUE. Does nothing for a name in `chosen` (App::chosen: set by -x).
void set_variable(std::vector<std::string>& environment, const std::vector<std::string>& chosen, std::string entry);

/// Fills Rank::env of every rank; the rest of the plan must be complete. With a rank table, DEVICE_ID is the position
/// of the device among the rank's visible devices, as MindSpore requires.
void add_rank_environments(Plan& plan, bool rank_table);

/// --show-env --format json: rank_environment() as an object, {"NAME": "value"}. Ends in a newline.
std::string rank_environment_json(const Plan& plan, const Rank& rank);

/// The plan of a round: if the job has restarts, kRoundVariable is the number of the round. Keeps values of -x.
Plan of_round(Plan plan, int round);

/// Sets kAttemptVariable of all ranks if the number is known. Keeps values of -x.
void set_attempt(Plan& plan, std::optional<int> attempt);

/// An Error if a host's own variable (env.NAME=) has the name of a variable with a value per rank; else nullopt.
std::optional<Error> refuse_own_names(const Plan& plan);

/// Whether the launcher of an outer job (mpirun, srun, torchrun, horovodrun, msrun, …) uses this variable to identify a
/// process. A rank with such a variable would join the outer job. User settings with a launcher's prefix are not
/// included: HOROVOD_CYCLE_TIME, OMPI_MCA_btl.
bool left_by_outer_job(std::string_view name);

inline constexpr std::string_view kRankTableVariable = "RANK_TABLE_FILE";

/// With a rank table, dlaunch sets these variables for ranks, in place of the launcher's values, unless -x sets them.
/// (MindSpore prefers the last variable to RANK_TABLE_FILE.)
inline constexpr std::array<std::string_view, 3> kRankTableVariables = {kRankTableVariable, "DEVICE_NUM",
                                                                        "MINDSPORE_HCCL_CONFIG_PATH"};

/// Sets DEVICE_NUM of each rank, the number of ranks on its host. Sets RANK_TABLE_FILE if the path of the table is
/// known; on other hosts the agent sets it.
Result<Plan> with_rank_table(Plan plan, RankTable table);

}  // namespace dlaunch::plan
