// The time by which a job must have ended, and the table in docs/how-it-works.md: both are sums of the same waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/job_options.h"
#include "scenario.h"

namespace sim {

/// A row of the table: the longest time from the fault to the end of the job, or to the next round, by phase.
struct Bound {
  std::string fault;
  std::vector<std::string> kinds;  ///< of world/faults.h
  std::vector<Ns> starting;        ///< the waits; empty: the fault cannot happen in this phase
  std::vector<Ns> running;
  std::vector<Ns> ending;  ///< the ranks are being stopped
};

std::vector<Bound> bounds(const dlaunch::JobOptions& options);
/// The table in Markdown.
std::string bounds_text(const dlaunch::JobOptions& options);
/// The longest time from a single fault while ranks run; nullopt: the fault does not end the job.
std::optional<Ns> bound_while_running(const std::string& kind, const dlaunch::JobOptions& options);
/// The longest time from the cause of the job's end to its end, with any faults. A rank that KILL does not end, or that
/// lives long, does not prolong this time.
Ns bound_of_end(const Scenario& scenario, const dlaunch::JobOptions& options);
/// The bound of a whole job with any faults: all waits of each round, the life of the ranks, the lengths of the faults.
Ns bound(const Scenario& scenario, const dlaunch::JobOptions& options);

}  // namespace sim
