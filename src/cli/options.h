// All that the user asked, with every default decided here and nowhere later. A value; `run` owns it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dlaunch/hostfile.h"
#include "dlaunch/job_options.h"
#include "dlaunch/rank_table.h"
#include "dlaunch/request.h"

namespace dlaunch::cli {

using plan::StdinTarget;

enum class Format { text, json };

/// --transport. automatic: --exec's command where it is given, a resource manager's own in its job, else ssh.
enum class TransportChoice { automatic, ssh, exec, slurm, sge, lsf, pbs, pals, flux };

/// --same-line, and what may say which node this is; what is empty is read from the place's variables.
struct SameLineRequest {
  bool asked = false;
  std::string rendezvous;  ///< HOST:PORT of node 0
  std::optional<int> node;
  std::optional<int> least;  ///< with so many nodes the job starts once no more have come for `last_call`
  std::optional<int> nodes;  ///< at most
  std::chrono::milliseconds last_call{30'000};
  std::string key_file;  ///< absolute; empty: DLAUNCH_KEY has the key
};

/// `dlaunch PROGRAM`, or the subcommand that the first word names; `ranktable`, `stacks` and `chaos` have options of
/// their own.
enum class Verb { run, hosts, check, ranktable, stacks, chaos, help };

/// --rank-table.
struct RankTableRequest {
  bool automatic = false;  ///< made from the plan; otherwise the next members are the file's
  std::string name;        ///< as it was typed
  std::string path;        ///< absolute
  std::string text;
};

/// The job's options, and the other options of the command line.
struct Options : JobOptions {
  TransportChoice transport = TransportChoice::automatic;
  Options() {
    request.mpi = plan::Mpi::automatic;
    stdin_target.kind = StdinTarget::Kind::rank;
    console = true;
    lines = false;
  }

  const JobOptions& of_job() const { return *this; }

  Verb verb = Verb::run;
  plan::Request request;  ///< complete except for job_id, which the caller makes; `check` may name no program
  allocate::HostRequest hosts;
  std::string rsh_agent;   ///< Open MPI's plm_rsh_agent
  std::string link_proxy;  ///< words before the command of `exec`
  std::string rsh_args;    ///< and plm_rsh_args; together they are `exec`, when that is empty

  std::string manager_program;  ///< the name of the command that starts the agents, where HostRequest::by_manager
  /// How many GPUs Slurm's steps ask for on each node, by name, where nodes may differ; a node that is missing has
  /// none.
  std::map<std::string, int> step_gpus;

  PortRange ports;  ///< --port
  SameLineRequest same_line;

  std::optional<RankTableRequest> rank_table;
  std::optional<ranktable::Product> product;  ///< empty: the usual one of the table's version

  bool check_ascend = false;  ///< check --ascend

  bool dry_run = false;
  Format format = Format::text;  ///< of --dry-run, --show-env, hosts and check
  std::optional<int> show_env;   ///< --show-env RANK
  int verbosity = 0;             ///< -v, -vv
  bool quiet = false;            ///< --quiet: no notes
  bool show_map = false;         ///< --display-map: the plan on stdout before the job starts
  bool show_allocation = false;  ///< --display-allocation
  std::string report_pid;        ///< --report-pid: "-", "+" or an absolute path; empty: not asked for

  std::vector<std::string> notes;    ///< of the command line itself, a line each, no prefix
  std::vector<std::string> remarks;  ///< the same, for who looks: what another launcher's line amounts to
};

/// The answer to an option like --help: print the text and exit.
struct ShowText {
  std::string text;
  int exit_code = 0;
};

using Command = std::variant<Options, ShowText>;

}  // namespace dlaunch::cli
