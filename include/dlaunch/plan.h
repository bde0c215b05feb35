// The plan: every rank with its host, device, environment and directory. Whoever makes it owns it. It does not change
// once made, except that run() (dlaunch/run.h) adds frameworks' variables and, while the job runs, appends spawned
// ranks and their hosts. make_plan is pure and linear in hosts + ranks.
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
      {};  ///< env without what means this machine only; empty when all hosts are this machine
  std::vector<std::string> chosen = {};  ///< names in env that -x set: no host's own value replaces them
  std::string wdir;                      ///< absolute
  bool wdir_chosen = false;              ///< set by --wdir: no host's own directory replaces it
  bool rank_dirs = false;                ///< its ranks run in Rank::dir, each with its own PWD
  int first_rank = 0;                    ///< index into Plan::ranks
  int ranks = 0;
};

struct Rank {
  int rank = 0;                     ///< in its world; in world 1 it is the index
  int app = 0;                      ///< index into Plan::apps
  int host = 0;                     ///< index into Plan::hosts; also the node rank
  int local_rank = 0;               ///< among the ranks of its world
  std::optional<int> device;        ///< physical id; none where the host has no devices
  std::vector<std::string> env;     ///< NAME=VALUE of this rank alone; no name that is in its App's env
  std::string slots = {};           ///< a rankfile's slot= (docs/hosts.md); empty: not said
  std::optional<int> ordinal = {};  ///< number of `device` among those that the rank sees
  std::string dir = {};             ///< its own directory, in which it runs; empty: its program's
};

/// A process that a framework needs beside the ranks: rank 0's program, on its host. It does not count as a rank.
struct Sidecar {
  std::string name;                    ///< "scheduler"
  int app = 0;                         ///< index into Plan::apps
  int host = 0;                        ///< index into Plan::hosts
  std::vector<std::string> env;        ///< NAME=VALUE, in addition to its App's
  std::string dir;                     ///< as Rank::dir
  std::vector<std::string> argv = {};  ///< empty: its App's
  bool serves = false;                 ///< it does not end by itself when the ranks have
};

struct PlannedHost {
  Host host;
  std::vector<int> ranks;    ///< indices into Plan::ranks, ascending; none: the host is there for spawned ranks
  bool unreachable = false;  ///< the job does not use it, or not any more
  int since_round = 0;       ///< the first round in which it has ranks
};

/// The table that tells Ascend's communication library which rank runs where; ranks find it by RANK_TABLE_FILE.
struct RankTable {
  std::string name;  ///< of the file, without a directory
  std::string text;
  std::string path = {};  ///< on this machine; empty: ranks here get a copy, as those on other hosts do
};

struct Plan {
  std::string job_id;
  std::vector<App> apps;
  std::vector<PlannedHost> hosts;       ///< those that get ranks, then those connected to for spawned ranks
  std::vector<Host> replacements = {};  ///< of --spares: they are connected to, and the next to get a lost host's ranks
  std::vector<Host> spare = {};         ///< other hosts of the allocation, on which ranks may be spawned
  std::vector<Rank> ranks;              ///< the index is the rank's id
  Worlds worlds = {};                   ///< the world of each id
  size_t spawned_bytes = 0;             ///< size of the words and variables of all spawned programs
  BindingRequest binding;
  std::vector<Framework> frameworks = {};  ///< whose variables run() adds
  Visible visible = Visible::unchanged;
  std::optional<RankTable> rank_table = {};
  std::optional<Manager> manager = {};  ///< whose command starts the agents; none: the hosts are reached otherwise
  Mpi mpi = Mpi::none;                  ///< automatic: each host decides for each program
  std::optional<Sidecar> sidecar = {};  ///< where a framework needs it
  int restarts = 0;                     ///< how many rounds may follow the first one (job/rounds.h)
  int round = 0;                        ///< the one that this is the plan of
  std::optional<int> attempt = {};      ///< Request::attempt
  std::vector<std::string> notes;  ///< what differs from the request or may fail, always shown; a line each, no prefix
  std::vector<std::string> remarks = {};  ///< what is as requested but worth a look; not shown for a good run

  // Elements by their numbers, which must exist.
  const Rank& rank(int id) const { return ranks[static_cast<std::size_t>(id)]; }
  Rank& rank(int id) { return ranks[static_cast<std::size_t>(id)]; }
  const App& app(int number) const { return apps[static_cast<std::size_t>(number)]; }
  const App& app_of(const Rank& rank) const { return apps[static_cast<std::size_t>(rank.app)]; }
  const PlannedHost& host(int number) const { return hosts[static_cast<std::size_t>(number)]; }
  PlannedHost& host(int number) { return hosts[static_cast<std::size_t>(number)]; }
  PlannedHost& host_of(const Rank& rank) { return hosts[static_cast<std::size_t>(rank.host)]; }
  const PlannedHost& host_of(const Rank& rank) const { return hosts[static_cast<std::size_t>(rank.host)]; }
};

/// Unless oversubscribe is set, refuses (exit code 2, with a table of what was asked and what is there) more ranks than
/// devices or than slots that the user named. More ranks than CPUs of an unnamed local host only adds a remark.
Result<Plan> make_plan(const Request& request, const Allocation& allocation);

/// Whether hosts must be asked for slots that nobody gave before a plan can be made.
bool needs_slots(const Request& request, const Allocation& allocation);

/// The directory in which an app's ranks on a host start: --wdir, else the host's own, else the launcher's.
const std::string& program_directory(const App& app, const PlannedHost& host);

/// The environment that an app's ranks on a host share: the launcher's (on another host without the names in
/// withheld_elsewhere()), then the host's own variables, then -x. Linear in its size.
std::vector<std::string> program_environment(const App& app, const PlannedHost& host);

/// The complete environment with which a rank starts: its program's on its host, and its own.
std::vector<std::string> rank_environment(const Plan& plan, const Rank& rank);

/// The text of --dry-run: a table for people, ending in a newline, with names of variables but never values.
std::string to_table(const Plan& plan);

/// The part of to_table(plan) that says where each rank goes, without the variables.
std::string to_map(const Plan& plan);

/// --dry-run --format json, and the "plan" member of --report. Names of variables, never values. Ends in a newline.
std::string to_json(const Plan& plan);

/// `dlaunch hosts`: the allocation as a table for people, and as JSON. Names of variables, never values.
std::string to_table(const Allocation& allocation);
std::string to_json(const Allocation& allocation);

}  // namespace dlaunch::plan
