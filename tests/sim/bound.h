// The time by which a job must have ended: one function, with a line for each wait. docs/simulation.md and the table in
// docs/how-it-works.md show these lines.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/job_options.h"
#include "scenario.h"

namespace sim {

struct Wait {
  std::string what;
  Ns most;
};

/// The waits of one round, and between two rounds.
std::vector<Wait> waits_of_round(const dlaunch::JobOptions& options, bool may_be_replaced);
std::vector<Wait> waits_between_rounds(const dlaunch::JobOptions& options, int restart);
/// The bound of a whole job, with the scenario's own times: the life of the ranks, and the lengths of its faults.
Ns bound(const Scenario& scenario, const dlaunch::JobOptions& options);

}  // namespace sim
