// Runs a job. This is all of dlaunch but its command line.
#pragma once

#include <string>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"
#include "dlaunch/job_options.h"
#include "dlaunch/listener.h"
#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"

namespace dlaunch {

namespace app {
class HostSession;
}

/// Starts the ranks, carries their output, ends them together, and returns when nothing of the job is left. The Outcome
/// says how the job ended; an Error says why nothing was started. The ports of frameworks and spawned ranks are added
/// to the plan: one that has got such is made anew before it runs again.
///
/// What it does to the process, and puts back before it returns:
/// - Signals: INT, TERM, HUP, QUIT, USR1, USR2, TSTP, CONT, WINCH and CHLD have handlers of its own unless they are
///   ignored; PIPE is ignored. The first four end the job, a second one at once; USR1 and USR2 go to the ranks. Any
///   thread may receive them: `kill(getpid(), SIGTERM)` from another thread ends the job.
/// - Children: it makes the process a child subreaper and reaps every child that ends meanwhile, so the status of a
///   child that the program made by itself is lost. Descendants that are not the job's are never signalled.
/// - The soft limit of open files is raised to the hard one.
///
/// Threads: it blocks the calling thread, on which the listener is called. Each other host has a thread, with all
/// signals blocked; one whose name server does not answer may outlive the call by seconds, and touches nothing of the
/// caller's. run() may be called from any thread, but only once at a time in a process, since signals and children are
/// the process's: a concurrent call is an Error.
///
/// Descriptors 0, 1 and 2 must be open. It reads 0 only for `stdin_target` and writes 1 and 2 only for `console`; all
/// descriptors that it opens are closed on exec. Variables: the ranks' come from the plan; of this process's own only
/// ssh's are read (HOME, SSH_AUTH_SOCK and what an ssh configuration names), and none is changed. It never exits.
///
/// Throws std::system_error or std::bad_alloc when this machine gives no descriptor, thread or memory, and what the
/// listener throws. All links are closed by then, and agents whose link ends end their ranks.
Result<job::Outcome> run(plan::Plan& plan, const JobOptions& options, Listener& listener);

/// Asks the hosts for slots that nobody gave (plan::needs_slots), so that a plan can be made. Process, threads and
/// exceptions are as for run(). The listener hears of hosts that cannot be used before the Error is returned.
Result<void> find_slots(plan::Allocation& allocation, const allocate::HostRequest& asked, const JobOptions& options,
                        Listener& listener);

/// A name for one job (Request::job_id), unique among those of this user on all hosts: 16 random hexadecimal digits.
std::string make_job_id();

/// Plans the job anew without these hosts of its plan.
using PlanWithout = std::function<Result<plan::Plan>(const plan::Plan& plan, const std::vector<int>& hosts)>;

/// run() over hosts that were asked before, as the command line does. HostSession is not installed. `plan_without` is
/// for Policy::shrink.
Result<job::Outcome> run(plan::Plan& plan, app::HostSession& session, PlanWithout plan_without = {});

}  // namespace dlaunch
