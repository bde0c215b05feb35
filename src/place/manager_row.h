// ManagerRow: the data and functions of a batch system, or of another system that starts dlaunch on the nodes of a job.
// Each system has its row in a separate file, and a line in manager_table.h. Other modules use the members of a row and
// never its name. Pure, except for `read_file`.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"
#include "dlaunch/job_options.h"
#include "dlaunch/request.h"
#include "place/line_meaning.h"

namespace dlaunch::place {

using Environment = std::vector<std::string>;  // NAME=VALUE
using Entries = std::vector<hosts::HostEntry>;

/// The output of a manager's command.
struct ManagerAnswer {
  std::string_view text;     ///< stdout
  std::string_view trouble;  ///< why there is no output
};

/// A value of --transport, with the programs that start agents. The first installed program is used, except in the rows
/// with command_of_files: there, the program is only a name for messages.
struct Way {
  std::string_view transport;  ///< empty: not a value of --transport
  std::span<const std::string_view> programs;
};

/// The GPUs that steps of the job must request on each node.
struct StepGpus {
  int each = 0;                             ///< per node; 0: the job's own request
  bool differ = false;                      ///< the number of each node is in `of_node`
  std::map<std::string, int> of_node = {};  ///< missing: no GPU
  bool all = false;                         ///< a step has all GPUs of its node without a request
};

/// The processes with the same command line that the system started.
struct Copies {
  int number = 1;
  std::string_view by = {};  ///< "srun"
};

/// The number of this node among the nodes with the same command line.
struct NodePlace {
  std::optional<int> least = {};  ///< number of nodes; empty: all
  std::optional<int> nodes = {};
  std::optional<int> node = {};
  std::string rendezvous = {};  ///< HOST or HOST:PORT of node 0 for the other nodes; empty: not given
};

/// The number of earlier runs of the job.
struct Attempt {
  int number = 0;
  bool counted = true;  ///< false: `number` is 1 for any number of earlier runs
  bool operator==(const Attempt&) const = default;
};

/// The time at which the system ends the job, and the time from its signal to the end.
struct PlannedEnd {
  std::optional<std::chrono::seconds> grace = {};  ///< between the signal and KILL
  std::string grace_command = {};                  ///< prints it, for ManagerRow::grace_in; empty: none
  std::optional<std::int64_t> end = {};            ///< of the job, in seconds since the epoch
  std::string end_command = {};                    ///< prints it, for ManagerRow::end_in; empty: none
  bool signals_steps = false;                      ///< a step has its own signals
};

/// The source of a setting: the file; the output of the command if the file is missing or does not have the setting.
struct Setting {
  std::string file = {};
  std::string command = {};  ///< empty: the setting is unknown
};

/// A member is null or empty if the system lacks the feature.
struct ManagerRow {
  std::string_view name;  ///< for users: "Slurm"

  // The job around this process.
  std::optional<std::string> (*job)(const Environment&) = nullptr;  ///< its number, if the system gives hosts
  Result<Entries> (*hosts)(const Environment&, const hosts::ReadText& read_file) = nullptr;
  Result<std::vector<int>> (*cpus)(const Environment&) = nullptr;  ///< of the job on each of these hosts
  std::string_view hosts_variable = {};                            ///< if only a program knows the hosts: shows the job
  std::string_view hosts_program = {};                             ///< the program
  std::string_view hosts_words = {};                               ///< its words
  Result<Entries> (*hosts_in)(const ManagerAnswer&) = nullptr;
  std::optional<Error> (*unlisted)(const Environment&) = nullptr;  ///< a job without the list of its hosts
  Copies (*copies)(const Environment&) = nullptr;
  Result<std::optional<NodePlace>> (*node)(const Environment&) = nullptr;
  std::string_view nodes_variable = {};  ///< if set, the system starts the command line on all of several nodes
  Result<std::vector<plan::RankPlace>> (*rank_places)(const Environment&, const hosts::ReadText& read_file) = nullptr;
  std::optional<Attempt> (*attempt)(const Environment&) = nullptr;
  std::span<const std::pair<std::string_view, std::string_view>> defaults = {};  ///< dlaunch's options, in its jobs

  // The start of agents.
  std::span<const Way> ways = {};
  std::string_view outside = {};   ///< "not in a Slurm job"
  std::string_view start_in = {};  ///< "start dlaunch in salloc or sbatch"
  bool starts_here_too = false;    ///< the command also starts the agent of this machine
  bool signal_ends_job = false;    ///< a signal to the command may end the whole job
  /// The path of a program, or a name for a search in PATH.
  std::string (*program_path)(std::string_view name, const Environment&) = nullptr;
  /// The command line that starts a program on a node, in the form of --exec.
  std::string (*command)(const Environment&, const std::string& program, const StepGpus&) = nullptr;
  /// As `command`, if files of the job have the command line; empty: the usual transport.
  Result<std::string> (*command_of_files)(const Environment&, const hosts::ReadText& read_file) = nullptr;
  /// How the manager starts agents that connect to the launcher; nullopt if command() is as good.
  std::optional<DialIn> (*dial_in)(const Environment&, const std::string& program, const StepGpus&) = nullptr;

  /// The meaning of a line that the command prints on stderr.
  LineMeaning (*meaning)(std::string_view line) = nullptr;
  std::string_view (*hint)(std::string_view line) = nullptr;  ///< for such a line; empty: none

  // Devices, and variables of a node.
  bool (*says_devices)(const Environment&) = nullptr;  ///< the variables of the job show devices
  bool only_listed_devices = false;                    ///< other devices of a node may belong to another job
  /// The command that prints the GPUs of the job; empty: no step must request GPUs.
  std::string (*gpus_command)(const std::string& job, const Environment&) = nullptr;
  Result<StepGpus> (*step_gpus)(const Environment&, const ManagerAnswer&) = nullptr;
  std::string (*gpu_words)(std::optional<int> gpus) = nullptr;  ///< of the command, for one node
  std::string_view node_variable = {};                          ///< has the number of the node, which dlaunch must set

  // The end of the job.
  std::optional<PlannedEnd> (*preemption)(const Environment&) = nullptr;
  std::optional<std::int64_t> (*end_in)(std::string_view answer) = nullptr;
  std::optional<std::chrono::seconds> (*grace_in)(std::string_view answer) = nullptr;
  Setting (*kill_wait)(const Environment&) = nullptr;                   ///< the time between TERM and KILL
  std::optional<int> (*kill_wait_in)(std::string_view text) = nullptr;  ///< in seconds; nullopt: not in the text
};

#define MANAGER(row, ...) extern const ManagerRow row;
#include "place/manager_table.h"
#undef MANAGER

/// In the order of manager_table.h.
std::span<const ManagerRow* const> managers();

}  // namespace dlaunch::place
