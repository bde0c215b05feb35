// Place: the system that started this process, from its environment and the files of its job: a batch job, one of
// several nodes with the same command line, or nothing. `main` reads the value once, before the command line is parsed,
// and gives it to the functions that need it. Pure, except for `read_file`.
#pragma once

#include <functional>

#include "place/manager_row.h"

namespace dlaunch::place {

/// A job around this process, of a system that gives hosts to its jobs.
struct ManagerJob {
  const ManagerRow* manager = nullptr;
  std::string number = {};                             ///< empty: unknown
  Result<std::vector<int>> cpus = std::vector<int>();  ///< of each host; empty: unknown
  // These functions read the files of the job, each file once. The files may be on a disk that does not respond: the
  // functions are called only if the job needs the values.
  std::function<Result<Entries>()> hosts = {};  ///< an Error also if a program must be asked: ManagerRow::hosts_in
  std::function<Result<std::vector<plan::RankPlace>>()> rank_places = {};  ///< empty: unknown
};
/// For Allocation::manager.
plan::Manager named(const ManagerJob& job);
/// "Slurm job 5".
std::string to_string(const ManagerJob& job);

/// The job's own end, if the batch system ends jobs. `manager` has the parsers of the commands' output.
struct OwnEnd {
  const ManagerRow* manager;
  PlannedEnd preemption;
};

/// An Error is reported only if the job needs the value.
struct Place {
  std::vector<ManagerJob> jobs = {};     ///< in the order of the table: the first is the job of dlaunch
  Result<NodePlace> node = NodePlace();  ///< empty fields: no system starts the command line on all nodes
  /// This process is one of several copies: each copy would run the whole job.
  std::optional<Error> copies = {};
  /// A batch job without a list of its hosts: never a silent local run. nullopt in a rank of dlaunch, because a rank
  /// has some of these variables.
  std::optional<Error> unlisted = {};
  /// DLAUNCH_ATTEMPT (from the user, for batch systems without such a variable), or the number of the batch system.
  /// nullopt: unknown.
  std::optional<Attempt> attempt = {};
  std::optional<OwnEnd> end = {};
  bool may_signal = false;  ///< a batch system or Kubernetes ends this process by a signal

  /// nullptr: no job.
  const ManagerJob* job() const { return jobs.empty() ? nullptr : &jobs.front(); }
  /// The job of the manager with this name; nullptr: no such job.
  const ManagerJob* job_of(std::string_view manager) const;
};

/// Without `read_file`, values in files are Errors.
Place read_place(const Environment& environment, const hosts::ReadText& read_file);

/// A value of --transport: a way of a manager to start agents.
struct NamedWay {
  const ManagerRow* manager = nullptr;
  const Way* way = nullptr;

  explicit operator bool() const { return way != nullptr; }
};
NamedWay find_way(std::string_view transport);
/// The values of --transport that select a batch system, in the order of the table.
std::vector<std::string> way_names();

}  // namespace dlaunch::place
