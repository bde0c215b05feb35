// The plan: every rank with its host, device, environment and directory. The caller of make_plan owns the plan. run()
// (dlaunch/run.h) makes a copy for each round, and adds variables of frameworks, spawned ranks and their hosts.
// make_plan is pure, and takes linear time in the number of hosts and ranks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "dlaunch/request.h"
#include "dlaunch/worlds.h"

namespace dlaunch::plan {

struct App {
  std::vector<std::string> argv;
  std::vector<std::string> env;  ///< NAME=VALUE; all variables except those of Rank::env; no name twice
  std::vector<std::string> env_elsewhere =
      {};  ///< `env` without the variables that only this machine needs; empty if all hosts are this machine
  std::vector<std::string> chosen = {};  ///< names in env that -x set; a host cannot replace their values
  std::string wdir;                      ///< absolute
  bool wdir_chosen = false;              ///< --wdir set `wdir`; the directory of a host does not replace `wdir`
  bool rank_dirs = false;                ///< the ranks run in Rank::dir, each with its own PWD
  int first_rank = 0;                    ///< index into Plan::ranks
  int ranks = 0;
};

struct Rank {
  int rank = 0;                     ///< number in its world; in world 1 equal to the index into Plan::ranks
  int app = 0;                      ///< index into Plan::apps
  int host = 0;                     ///< index into Plan::hosts; also the node rank
  int local_rank = 0;               ///< number on its host, among the ranks of its world
  std::optional<int> device;        ///< physical id; empty on a host without devices
  std::vector<std::string> env;     ///< NAME=VALUE of this rank only; names that are not in App::env
  std::string slots = {};           ///< slot= of a rankfile (docs/hostfile.md); empty: not set
  std::optional<int> ordinal = {};  ///< number of `device` among the visible devices of the rank
  std::string dir = {};             ///< the directory in which the rank runs; empty: the directory of the program
};

/// A process that a framework needs in addition to the ranks. The sidecar runs on the host of rank 0, usually with the
/// program of rank 0.
struct Sidecar {
  std::string name;                    ///< "scheduler"
  int app = 0;                         ///< index into Plan::apps
  int host = 0;                        ///< index into Plan::hosts
  std::vector<std::string> env;        ///< NAME=VALUE, in addition to App::env
  std::string dir;                     ///< like Rank::dir
  std::vector<std::string> argv = {};  ///< empty: App::argv
  bool serves = false;                 ///< a server: does not exit by itself after the end of the ranks
};

struct PlannedHost {
  Host host;
  std::vector<int> ranks;    ///< indices into Plan::ranks, ascending; empty: a host for spawned ranks
  bool unreachable = false;  ///< the job does not use the host, or has stopped using it
  int since_round = 0;       ///< the first round with these ranks on this host
};

/// The table of ranks, hosts and devices for Ascend's communication library. RANK_TABLE_FILE has its path.
struct RankTable {
  std::string name;  ///< name of the file, without a directory
  std::string text;
  std::string path = {};  ///< on this machine; empty: ranks on this machine get a copy, like ranks on other hosts
};

struct Plan {
  std::string job_id;
  std::vector<App> apps;
  std::vector<PlannedHost> hosts;       ///< hosts with ranks, then hosts for spawned ranks
  std::vector<Host> replacements = {};  ///< hosts of --spares: connected, and used to replace lost hosts
  std::vector<Host> spare = {};         ///< other hosts of the allocation, for spawned ranks
  std::vector<Rank> ranks;              ///< the index is the id of the rank
  Worlds worlds = {};                   ///< the world of each id
  size_t spawned_bytes = 0;             ///< size of the words and variables of all spawned programs
  BindingRequest binding;
  std::vector<Framework> frameworks = {};  ///< run() adds the variables of these frameworks
  Visible visible = Visible::unchanged;
  std::optional<RankTable> rank_table = {};
  std::optional<Manager> manager = {};  ///< the manager whose command starts the agents; empty: another transport
  Mpi mpi = Mpi::none;                  ///< automatic: the agent detects the MPI of each program
  std::optional<Sidecar> sidecar = {};  ///< if a framework requires one
  int restarts = 0;                     ///< limit of rounds after the first round (job/rounds.h)
  int round = 0;                        ///< the round of this plan
  std::optional<int> attempt = {};      ///< Request::attempt
  std::vector<std::string>
      notes;  ///< risks, and differences from the request; always shown; one line per note, without "note:"
  std::vector<std::string> remarks = {};  ///< further facts; not shown for a successful job

  // Elements by number. The number must exist.
  const Rank& rank(int id) const { return ranks[static_cast<std::size_t>(id)]; }
  Rank& rank(int id) { return ranks[static_cast<std::size_t>(id)]; }
  const App& app(int number) const { return apps[static_cast<std::size_t>(number)]; }
  const App& app_of(const Rank& rank) const { return apps[static_cast<std::size_t>(rank.app)]; }
  const PlannedHost& host(int number) const { return hosts[static_cast<std::size_t>(number)]; }
  PlannedHost& host(int number) { return hosts[static_cast<std::size_t>(number)]; }
  PlannedHost& host_of(const Rank& rank) { return hosts[static_cast<std::size_t>(rank.host)]; }
  const PlannedHost& host_of(const Rank& rank) const { return hosts[static_cast<std::size_t>(rank.host)]; }
};

/// Without `oversubscribe`, rejects more ranks than devices. Also rejects more ranks than slots if the user set the
/// slots. The Error has exit code 2, and a table of requested and available numbers. If the user did not name a host,
/// and the job has more ranks than this machine has CPUs, make_plan only adds a remark.
Result<Plan> make_plan(const Request& request, const Allocation& allocation);

/// Returns true if hosts must be queried for their slots before make_plan.
bool needs_slots(const Request& request, const Allocation& allocation);

/// The directory in which the ranks of an app start on a host: --wdir, else the directory of the host, else the
/// directory of the launcher.
const std::string& program_directory(const App& app, const PlannedHost& host);

/// The common environment of an app's ranks on a host: the variables of the launcher (on another host without the names
/// in withheld_elsewhere()), then the variables of the host, then -x. A later value replaces an earlier value. Linear
/// in the size of the environment.
std::vector<std::string> program_environment(const App& app, const PlannedHost& host);

/// The complete environment of a rank: program_environment() and the variables of the rank.
std::vector<std::string> rank_environment(const Plan& plan, const Rank& rank);

/// The text of --dry-run: a table for people, ending in a newline, with names of variables but never values.
std::string to_table(const Plan& plan);

/// The part of to_table(plan) with the host of each rank, without the variables.
std::string to_map(const Plan& plan);

/// --dry-run --format json, and the "plan" member of --report. Names of variables, never values. Ends in a newline.
std::string to_json(const Plan& plan);

/// `dlaunch hosts`: the allocation as a table for people, and as JSON. Names of variables, never values.
std::string to_table(const Allocation& allocation);
std::string to_json(const Allocation& allocation);

}  // namespace dlaunch::plan
