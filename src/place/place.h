// Place: the system that started this process, from its environment and the files of its job: a batch job, one of
// several nodes with the same command line, or nothing. The reader is pure, except for `read_file`.
#pragma once

#include "place/manager_row.h"

namespace dlaunch::place {

/// The system that gives hosts to the job around this process.
struct Found {
  const ManagerRow* manager = nullptr;  ///< nullptr: none
  std::string job = {};                 ///< its number; empty: unknown

  explicit operator bool() const { return manager != nullptr; }
};
Found find_manager(const Environment& environment);
/// "Slurm job 5".
std::string to_string(const Found& found);
/// For Allocation::manager.
std::optional<plan::Manager> named(const Found& found);

/// A value of --transport: a way of a manager to start agents.
struct NamedWay {
  const ManagerRow* manager = nullptr;
  const Way* way = nullptr;

  explicit operator bool() const { return way != nullptr; }
};
NamedWay find_way(std::string_view transport);
/// The values of --transport that are ways of managers, in the order of the table.
std::vector<std::string> way_names();

/// The hosts of the job. Invalid values are an Error: no silent run on this machine. Empty if a program must be asked.
Result<Entries> hosts_of(const Found& found, const Environment& environment, const hosts::ReadText& read_file);

/// The Error for a process that is one of several copies: each copy would run the whole job.
std::optional<Error> refuse_copies(const Found& found, const Environment& environment);

/// The Error for a batch job without a list of its hosts: no silent run on this machine. nullopt in a rank of dlaunch,
/// because a rank has some of these variables.
std::optional<Error> refuse_incomplete_batch_job(const Environment& environment);

/// The number of this node among the nodes with the same command line. Empty fields outside such a system.
/// Contradictory values are an Error.
Result<NodePlace> place_of_node(const Environment& environment);

/// The Error for a process on one of several nodes, or from a launcher that started several processes: each copy would
/// run the whole job. nullopt for a rank of a launcher there.
std::optional<Error> refuse_copy_on_node(const Environment& environment);

/// DLAUNCH_ATTEMPT (from the user, for batch systems without such a variable), or the number of the batch system.
/// nullopt: unknown.
std::optional<Attempt> attempt_of(const Environment& environment);

/// The job's own end, if the batch system ends jobs. `manager` has the parsers of the commands' output.
struct OwnEnd {
  const ManagerRow* manager;
  PlannedEnd preemption;
};
std::optional<OwnEnd> end_of_job(const Environment& environment);

}  // namespace dlaunch::place
