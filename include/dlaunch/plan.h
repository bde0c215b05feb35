// The plan: every rank with its host, device, environment and directory. Who makes it owns it. Once made it does not
// change, but that run() (dlaunch/run.h) adds what frameworks ask for and, while it lasts, what ranks spawn and the
// hosts for it, behind all that is there.
// make_plan is pure and linear in hosts + ranks.
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
  std::vector<std::string> env;  ///< NAME=VALUE, complete but for each rank's own; no name twice
  std::vector<std::string> env_elsewhere =
      {};  ///< env, less what means this machine only; empty when all hosts are this machine
  std::vector<std::string> chosen = {};  ///< names in env that -x chose: no host's own value replaces them
  std::string wdir;                      ///< absolute
  bool wdir_chosen = false;              ///< by --wdir: no host's own directory replaces it
  bool rank_dirs = false;                ///< its ranks run in Rank::dir, each with a PWD of its own
  int first_rank = 0;                    ///< index into Plan::ranks
  int ranks = 0;
};

struct Rank {
  int rank = 0;                     ///< in its world; in world 1 that is its index
  int app = 0;                      ///< index into Plan::apps
  int host = 0;                     ///< index into Plan::hosts, which is also the node rank
  int local_rank = 0;               ///< among the ranks of its world
  std::optional<int> device;        ///< physical id; none where the host has no devices
  std::vector<std::string> env;     ///< NAME=VALUE of this rank alone; no name that is in its App's env
  std::string slots = {};           ///< a rankfile's slot= (docs/hosts.md); empty: not said
  std::optional<int> ordinal = {};  ///< the number of `device` among those that the rank sees
  std::string dir = {};             ///< where it runs, made for it; empty: in its program's directory
};

/// A process beside the ranks that a framework needs, of rank 0's program and on its host. It counts as no rank.
struct Sidecar {
  std::string name;              ///< "scheduler"
  int app = 0;                   ///< index into Plan::apps
  int host = 0;                  ///< index into Plan::hosts
  std::vector<std::string> env;  ///< NAME=VALUE, beside its App's, as Rank::env
  std::string dir;               ///< as Rank::dir
};

struct PlannedHost {
  Host host;
  std::vector<int> ranks;    ///< indices into Plan::ranks, ascending; none: it is there for ranks that may be spawned
  bool unreachable = false;  ///< it is none of the job's (any more)
};

/// What tells Ascend's communication library which rank runs where; ranks find it by RANK_TABLE_FILE.
struct RankTable {
  std::string name;  ///< of the file, without a directory
  std::string text;
  std::string path = {};  ///< where it is on this machine; empty: ranks here get a copy, as those on other hosts do
};

struct Plan {
  std::string job_id;
  std::vector<App> apps;
  std::vector<PlannedHost> hosts;  ///< those that get ranks; behind them, those that were met for ranks to be spawned
  std::vector<Host> spare = {};    ///< the allocation's others, where ranks may be spawned
  std::vector<Rank> ranks;         ///< the index is the rank's id
  Worlds worlds = {};              ///< of the ids
  size_t spawned_bytes = 0;        ///< of the words and variables of programs that were spawned
  BindingRequest binding;
  std::vector<Framework> frameworks = {};  ///< whose variables run() adds
  Visible visible = Visible::unchanged;
  std::optional<RankTable> rank_table = {};
  Mpi mpi = Mpi::none;                  ///< automatic: each host decides for each program
  std::optional<Sidecar> sidecar = {};  ///< where a framework needs it
  std::vector<std::string> notes;  ///< what is not as the user asked, or may fail: told always; a line each, no prefix
  std::vector<std::string> remarks = {};  ///< what is as asked, but worth a look: a good run is silent about it

  // By their numbers, which must be there.
  const Rank& rank(int id) const { return ranks[static_cast<std::size_t>(id)]; }
  Rank& rank(int id) { return ranks[static_cast<std::size_t>(id)]; }
  const App& app(int number) const { return apps[static_cast<std::size_t>(number)]; }
  const App& app_of(const Rank& rank) const { return apps[static_cast<std::size_t>(rank.app)]; }
  const PlannedHost& host(int number) const { return hosts[static_cast<std::size_t>(number)]; }
  PlannedHost& host(int number) { return hosts[static_cast<std::size_t>(number)]; }
  PlannedHost& host_of(const Rank& rank) { return hosts[static_cast<std::size_t>(rank.host)]; }
  const PlannedHost& host_of(const Rank& rank) const { return hosts[static_cast<std::size_t>(rank.host)]; }
};

/// Refuses (exit code 2, with a table of what was asked and what is there) more ranks than devices, or than slots that
/// the user named, unless oversubscribe. More ranks than CPUs of an unnamed local host only makes a remark.
Result<Plan> make_plan(const Request& request, const Allocation& allocation);

/// Whether no plan can be made before hosts whose slots nobody said were asked.
bool needs_slots(const Request& request, const Allocation& allocation);

/// Where an app's ranks on a host start: --wdir, else the host's own directory, else the launcher's.
const std::string& program_directory(const App& app, const PlannedHost& host);

/// The environment that an app's ranks on a host share: the launcher's (elsewhere without the names in
/// withheld_elsewhere()), then the host's own variables, then -x. Linear in its size.
std::vector<std::string> program_environment(const App& app, const PlannedHost& host);

/// The complete environment of a rank, as it will start: its program's on its host, and its own.
std::vector<std::string> rank_environment(const Plan& plan, const Rank& rank);

/// --dry-run: a table for people, ending in a newline. Prints names of variables, never values.
std::string to_table(const Plan& plan);

/// Its part that says where each rank goes, without the variables.
std::string to_map(const Plan& plan);

/// --dry-run --format json, and the "plan" member of --report. Names of variables, never values. Ends in a newline.
std::string to_json(const Plan& plan);

/// `dlaunch hosts`: the allocation as a table for people, and as JSON. Names of variables, never values.
std::string to_table(const Allocation& allocation);
std::string to_json(const Allocation& allocation);

}  // namespace dlaunch::plan
