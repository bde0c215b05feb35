// The lines of the summary about lost hosts: hosts that a sweep reached, and commands for the others. PURE.
#pragma once

#include "report/lines.h"
#include "report/summary.h"

namespace dlaunch::report {

/// Names the hosts on which a sweep found no process of the job.
void add_swept(const Summary& summary, Lines& lines);

/// Names the hosts that no sweep reached, with the commands that kill the processes there. `of_earlier_rounds`: with
/// the hosts of earlier rounds.
void add_unswept(const Summary& summary, bool of_earlier_rounds, Lines& lines);

}  // namespace dlaunch::report
