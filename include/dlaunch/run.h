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

/// Starts the ranks, carries their output, ends them together, and returns when nothing of the job is left. Outcome
/// says how it ended, whatever became of the ranks; an Error says why nothing was started. The plan grows by what ranks
/// spawn.
///
/// What it does to the process, and puts back before it returns:
/// - Signals: INT, TERM, HUP, QUIT, USR1, USR2, TSTP, CONT, WINCH and CHLD have handlers of its own unless they are
///   ignored; PIPE is ignored. The first four end the job, a second one at once; USR1 and USR2 go to the ranks. They
///   may be delivered to any thread: `kill(getpid(), SIGTERM)` from another thread ends the job.
/// - Children: it makes the process a child subreaper and reaps every child that ends meanwhile, so the status of a
///   child that the program made by itself is lost. Descendants that are not the job's are never signalled.
/// - The soft limit of open files is raised to the hard one.
///
/// Threads: it blocks the caller's, on which the listener is called; other hosts have a thread each, with all signals
/// blocked. One whose name server does not answer may outlive the call by seconds, and touches nothing of the caller's.
/// It may be called from any thread, but once at a time in a process, since signals and children are the process's: a
/// second call meanwhile is an Error. One after the other is as good as the first.
///
/// Descriptors 0, 1 and 2 must be open. It reads 0 only for `stdin_target` and writes 1 and 2 only for `console`; all
/// descriptors that it opens are closed on exec. Variables: the ranks' come from the plan; of this process's own only
/// ssh's are read (HOME, SSH_AUTH_SOCK and what an ssh configuration names), and none is changed. It never exits.
///
/// Throws std::system_error or std::bad_alloc when this machine gives no descriptor, thread or memory, and what the
/// listener throws. Whatever was going on has been let go then: agents whose link ends end their ranks.
Result<job::Outcome> run(plan::Plan& plan, const JobOptions& options, Listener& listener);

/// Asks the hosts whose slots nobody said (plan::needs_slots), so that a plan can be made. The process, threads and
/// what is thrown are as in run(); hosts that cannot be used are told to the listener before the Error comes.
Result<void> find_slots(plan::Allocation& allocation, const allocate::HostRequest& asked, const JobOptions& options,
                        Listener& listener);

/// A name for one job (Request::job_id), unique among those of this user on all hosts: 16 random hexadecimal digits.
std::string make_job_id();

/// run() over hosts that were asked something before, as the command line's are. HostSession is not installed.
Result<job::Outcome> run(plan::Plan& plan, app::HostSession& session);

}  // namespace dlaunch
