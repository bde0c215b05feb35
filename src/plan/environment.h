// What a rank finds in its environment: the launcher's variables, what -x asked for, and who the rank is.
//
// Later ones win: the launcher's own (without those of an outer dlaunch) < kPythonVariables and PWD < -x in order.
// With --rank-dir each rank has its own PWD (plan/rank_dir.h).
//
// Other hosts get the launcher's own variables, too, except those that describe this machine, its terminal, login or
// outer job (withheld_elsewhere). The agent's login gives HOME, USER and the like there, and a host's own variables
// (env.NAME= in a hostfile) replace the launcher's. -x always wins.
//
// With --env-for or a rank table, the variables of an outer job's launcher are left out (plan/outer_job.h), and where
// --visible hides devices, so are the launcher's own lists of them (plan/visible.h). -x brings back what it names
// outright.
//
// Where MPI is served (plan/mpi.h), the variables of an outer MPI job are left out.
//
// A name of kRankVariables that -x sets or names outright keeps the user's value in place of the rank's own. A pattern
// ('DLAUNCH_*') brings none of these names and never PWD, whose values would be the outer job's.
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

/// The variables of which each rank has a value of its own, in the order of Rank::env.
inline constexpr std::array<std::string_view, 12> kRankVariables = {
    "RANK_ID",           "RANK_SIZE",         "DEVICE_ID",          "DLAUNCH_JOB_ID",
    "DLAUNCH_RANK",      "DLAUNCH_SIZE",      "DLAUNCH_LOCAL_RANK", "DLAUNCH_LOCAL_SIZE",
    "DLAUNCH_NODE_RANK", "DLAUNCH_NUM_NODES", "DLAUNCH_HOST",       "DLAUNCH_DEVICE"};

/// Those that are not set are 1: output comes at once, and a rank that is killed by a signal of its own fault writes
/// its threads' stacks to stderr before.
inline constexpr std::array<std::string_view, 2> kPythonVariables = {"PYTHONUNBUFFERED", "PYTHONFAULTHANDLER"};

/// Tells each rank of a job that may be restarted the number of its round.
inline constexpr std::string_view kRoundVariable = "DLAUNCH_ROUND";

/// Tells each rank how often a resource manager has queued the job again.
inline constexpr std::string_view kAttemptVariable = "DLAUNCH_ATTEMPT";

/// Whether a variable of the launcher's own is not sent to other hosts, where it would be wrong.
bool withheld_elsewhere(std::string_view name);

/// Whether a resource manager gives it to what runs on a node to tell of that node, and an agent hands it to its ranks.
bool tells_of_node(std::string_view name);

struct AppEnvironment {
  std::vector<std::string> entries;    ///< NAME=VALUE, no name twice
  std::vector<std::string> elsewhere;  ///< the same without what is withheld from other hosts
  std::vector<std::string> chosen;     ///< names that -x set or passed on
  std::vector<std::string> notes;      ///< a line for each -x that found no variable to copy
};

/// `by_manager`: Allocation::by_manager. What the launcher's environment says of the job goes to all hosts then; what
/// it says of one node stays here, since the manager tells each agent that of its own.
AppEnvironment app_environment(const Request& request, const AppRequest& app, const std::string& wdir,
                               bool by_manager = false);

/// Adds NAME=VALUE in place of the entry of that name. A name that -x has set, one of App::chosen, stays as it is.
void set_variable(std::vector<std::string>& environment, const std::vector<std::string>& chosen, std::string entry);

/// Fills Rank::env of every rank of a plan that is otherwise complete. With a rank table DEVICE_ID is the device's
/// number among those that the rank sees, as MindSpore counts.
void add_rank_environments(Plan& plan, bool rank_table);

/// Makes it the plan of another round: kRoundVariable of a job that may be restarted has its number. What -x set stays.
void set_round(Plan& plan, int round);

/// Its ranks have kAttemptVariable where the number is known. What -x set stays.
void set_attempt(Plan& plan, std::optional<int> attempt);

/// The Error for a host's own variable (env.NAME=) that each rank gets a value of its own for; nullopt when there is
/// none.
std::optional<Error> refuse_own_names(const Plan& plan);

}  // namespace dlaunch::plan
