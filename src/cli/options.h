// The options of one run, with all defaults filled in. A value; `run` owns it.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dlaunch/hostfile.h"
#include "dlaunch/job_options.h"
#include "dlaunch/rank_table.h"
#include "dlaunch/request.h"
#include "place/place.h"

namespace dlaunch::cli {

using plan::StdinTarget;

enum class Format { text, json };

/// --transport. automatic: the command of --exec if given, else the batch system's transport in a job, else ssh.
enum class TransportChoice { automatic, ssh, exec, by_manager };

/// The names of options for errors about nodes. A launcher of --as has other names.
struct NodeOptions {
  std::string_view launcher = "--same-line";
  std::string_view rank = "--node-rank";
  std::string_view address = "--rendezvous";
  std::string_view address_value = "HOST:PORT";
};

/// --same-line and its options. Empty fields are read from the environment of the batch system.
struct SameLineRequest {
  bool asked = false;
  std::string rendezvous;  ///< HOST:PORT of node 0
  std::optional<int> node;
  std::optional<int> least;  ///< the job starts with this many nodes if no node joins for `last_call`
  std::optional<int> nodes;  ///< the maximum
  std::chrono::milliseconds last_call{30'000};
  std::string key_file;  ///< absolute; empty: DLAUNCH_KEY has the key
  NodeOptions named;
};

/// `dlaunch PROGRAM`, or the subcommand that the first word names; `ranktable`, `stacks` and `chaos` have
/// their own options.
enum class Verb { run, hosts, check, ranktable, stacks, chaos, completion, complete, help };

/// --rank-table.
struct RankTableRequest {
  bool automatic = false;  ///< made from the plan; else the next members describe the file
  std::string name;        ///< as typed
  std::string path;        ///< absolute
  std::string text;
};

/// The job's options, and the other options of the command line.
struct Options : JobOptions {
  TransportChoice transport = TransportChoice::automatic;
  place::NamedWay way = {};  ///< set if `transport` is by_manager
  Options() {
    request.mpi = plan::Mpi::automatic;
    stdin_target.kind = StdinTarget::Kind::rank;
    console = true;
    lines = false;
  }

  const JobOptions& of_job() const { return *this; }

  Verb verb = Verb::run;
  plan::Request request;  ///< complete except for job_id, set by the caller; `check` may have no program
  hosts::HostRequest hosts;
  std::string rsh_agent;   ///< Open MPI's plm_rsh_agent
  std::string link_proxy;  ///< inserted before the command of `exec`
  std::string rsh_args;    ///< Open MPI's plm_rsh_args; if `exec` is empty, it is made from rsh_agent and rsh_args

  PortRange ports;  ///< --port
  SameLineRequest same_line;

  std::optional<RankTableRequest> rank_table;
  std::optional<ranktable::Product> product;  ///< empty: the usual product for the table's version

  bool check_ascend = false;  ///< check --ascend

  bool dry_run = false;
  Format format = Format::text;  ///< of --dry-run, --show-env, hosts and check
  std::optional<int> show_env;   ///< --show-env RANK
  int verbosity = 0;             ///< -v, -vv
  bool quiet = false;            ///< --quiet: no notes
  bool show_map = false;         ///< --display-map: the plan on stdout before the job starts
  bool show_allocation = false;  ///< --display-allocation
  /// --status: the time without output after which the status line about running ranks is drawn. nullopt: no line.
  std::optional<std::chrono::milliseconds> status = std::chrono::milliseconds(2000);
  std::string report_pid;  ///< --report-pid: "-", "+" or an absolute path; empty: off

  std::vector<std::string> notes;    ///< about the command line, one line per note, no prefix
  std::vector<std::string> remarks;  ///< notes that need -v: the dlaunch command for another launcher's line
};

/// The result of --help and similar options: print the text and exit.
struct ShowText {
  std::string text;
  int exit_code = 0;
};

using Command = std::variant<Options, ShowText>;

}  // namespace dlaunch::cli
