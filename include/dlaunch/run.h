// Runs a job: all of dlaunch except the command line.
#pragma once

#include <string>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"
#include "dlaunch/job_options.h"
#include "dlaunch/listener.h"
#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"

namespace dlaunch {

namespace session {
class HostSession;
}

/// Starts the ranks, forwards their output, stops all of them at the end of the job, and returns after the last process
/// of the job has ended. The Outcome describes the end of the job. Spawned ranks have the ids after the ranks of the
/// plan. Numbers of hosts refer to the plan of the last round. The record (JobOptions::report_file) names the host of
/// each rank. An Error means that no rank started, or that dlaunch could not prepare a further round.
///
/// Changes to this process, which run() reverts before it returns:
/// - Signals: run() handles INT, TERM, HUP, QUIT, USR1, USR2, TSTP, CONT, WINCH and CHLD. run() also handles XCPU and
///   ALRM unless your program has a handler. Signals that your program ignores stay ignored. run() ignores PIPE. INT,
///   TERM, HUP, QUIT, XCPU and ALRM end the job; a second signal ends the job at once. run() sends USR1 and USR2 to the
///   ranks. Any thread may receive these signals: `kill(getpid(), SIGTERM)` from another thread ends the job.
/// - Children: the process becomes a child subreaper and reaps every child that ends during run(). The exit
///   status of a child that your program started is lost. Descendants outside the job are never signalled.
/// - The soft limit of open files is raised to the hard limit.
///
/// Threads: run() blocks the calling thread and calls the listener on this thread. run() starts one thread per remote
/// host; all signals are blocked in these threads. A thread may outlive the call by seconds if a name server does not
/// answer; such a thread does not use data of the caller. Any thread may call run(). A concurrent second call returns
/// an Error, because signals and children belong to the whole process.
///
/// Descriptors 0, 1 and 2 must be open. run() reads 0 only for `stdin_target`, and writes 1 and 2 only for `console`.
/// All descriptors of run() are closed on exec. The variables of ranks come from the plan. run() reads only the
/// variables of ssh (HOME, SSH_AUTH_SOCK and the names in the ssh configuration), and does not change variables. run()
/// never exits the process.
///
/// Throws std::system_error or std::bad_alloc if this machine lacks a descriptor, a thread or memory. Also throws any
/// exception of the listener. run() then closes all links, and each agent stops its ranks.
Result<job::Outcome> run(const plan::Plan& plan, const JobOptions& options, Listener& listener);

/// Returns the allocation with the slots of all hosts. Queries the hosts for missing slots (plan::needs_slots); call
/// find_slots() before make_plan. The rules of run() for the process, threads and exceptions also apply to
/// find_slots(). The listener receives the unusable hosts before the Error is returned.
Result<plan::Allocation> find_slots(const plan::Allocation& allocation, const hosts::HostRequest& asked,
                                    const JobOptions& options, Listener& listener);

/// A unique name for one job (Request::job_id): 16 random hexadecimal digits.
std::string make_job_id();

/// Makes a new plan of the job without these hosts.
using PlanWithout = std::function<Result<plan::Plan>(const plan::Plan& plan, const std::vector<int>& hosts)>;

/// run() for the command line, after `session` has queried the hosts. The header of HostSession is not installed. The
/// plan has the ports of frameworks. `plan_without` is for Policy::shrink.
Result<job::Outcome> run(plan::Plan plan, session::HostSession& session, PlanWithout plan_without = {});

}  // namespace dlaunch
