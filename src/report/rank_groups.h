// RankGroups: the ranks of an ended job by their end, for the summary (report/summary.h). PURE.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"

namespace dlaunch::report {

/// Each rank except the first failure is in at most one group.
struct RankGroups {
  std::map<std::string, std::set<int>> failed;  // not stopped by dlaunch; by reason
  std::set<int> lost;
  std::set<int> stuck;    // alive after KILL and given up; also in `lost`
  std::set<int> stopped;  // by dlaunch, because of the cause
  std::set<int> never_started;
  std::set<int> unknown;  // started, exit status unknown
  std::set<int> unheard;  // of `unknown`: may have ended before the cause
  std::set<int> start_unknown;
  size_t needed_kill = 0;  // of `stopped`
};

/// `named`: the ranks that the line of the cause names.
RankGroups group_ranks(const job::Outcome& outcome, const std::set<int>& named);

/// The exit status, also of a rank without a known one.
ExitStatus status_of(const job::RankRecord& record);

/// Returns true if the program exists, but its interpreter or its loader is missing.
bool is_missing_interpreter(const NotStarted& status);

/// The first failure and all ranks of the same program that did not start for the same reason; empty if the first
/// failure started.
std::set<int> not_started_alike(const plan::Plan& plan, const job::Outcome& outcome);

/// One line for the ranks of not_started_alike(); empty for a single rank if its program is not the reason.
std::string not_started_text(const plan::Plan& plan, const std::set<int>& alike, const NotStarted& status);

/// "rank 3" or "ranks 3-5,7"
std::string ranks_text(const Worlds& worlds, const std::set<int>& ranks);

}  // namespace dlaunch::report
