// The request of a user to the planner. A value with all defaults filled in.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlaunch::plan {

/// `-x VAR` (no value: the value of the launcher), `-x VAR=VALUE`, `-x 'PREFIX_*'` (name ends with '*', no value).
struct EnvSetting {
  std::string name = {};
  std::optional<std::string> value = {};
};

/// One program of the job. A command line with `a : b` or --app has several programs.
struct AppRequest {
  std::vector<std::string> argv = {};
  std::optional<int> ranks = {};  ///< -n
  bool for_devices = false;       ///< -n devices: one rank per device; fails if a host has no devices
  std::string wdir = {};          ///< absolute; empty: the working directory of the launcher
  std::vector<EnvSetting> env = {};
  int pool = 0;  ///< index into Allocation::pools, if there are pools
};

/// The values of --env-for: ranks get the variables of this framework (docs/environment.md).
enum class Framework {
  torch,
  torchrun,
  deepspeed,
  jax,
  tensorflow,
  mindspore,
  mindspore_dynamic,
  horovod,
  openmpi,
  mpich,
  slurm
};

/// The visible devices of a rank (docs/environment.md). unchanged: as in the environment of the launcher.
enum class Visible { unchanged, host, rank };

/// The MPI interface for the ranks (docs/mpi.md). automatic: each interface that a program may use, unless the
/// variables of the interface would mislead a framework. pmi1, pmi2: one connection for PMI-1 and PMI-2; the client
/// chooses the version. pmix: PMIx, with all data that the launcher of Open MPI gives to a rank.
enum class Mpi { automatic, pmi1, pmi2, pmix, none };

enum class BindTo { none, core, hwthread, socket, numa, device };
enum class MapBy { slot, core, hwthread, socket, numa, node };
enum class RankBy { slot, node, core, socket };

inline constexpr int kEqualShare = 0;  ///< value of cores_per_rank: cores of the host divided by ranks of the host

/// The placement of local ranks on the CPUs of a host. The host computes the masks from its topology.
struct BindingRequest {
  BindTo bind_to = BindTo::none;
  MapBy map_by = MapBy::slot;
  RankBy rank_by = RankBy::slot;
  bool report = false;        ///< --report-bindings
  int cores_per_rank = 1;     ///< --cores-per-rank, or kEqualShare; with BindTo::hwthread, threads
  bool overload = false;      ///< ranks share cores or threads if the host has too few
  bool if_supported = false;  ///< ranks are not bound if the host has too few cores or threads
  bool operator==(const BindingRequest&) const = default;
};

/// One line of a rankfile: the place of one rank.
struct RankPlace {
  int rank = 0;
  std::string host = {};   ///< a name in the allocation, or "+n2": the third host of the allocation
  std::string slots = {};  ///< slot=: the CPUs to bind to (docs/hostfile.md); empty: not set
  std::string from = {};   ///< "ranks:3"
};

/// The ranks that get the stdin of the launcher.
struct StdinTarget {
  enum class Kind { none, all, rank } kind = Kind::rank;
  int rank = 0;
  bool operator==(const StdinTarget&) const = default;
};

/// How dlaunch treats a host key that is missing in all known_hosts files (StrictHostKeyChecking of ssh_config).
enum class HostKey { strict, accept_new, off };

struct Request {
  std::string job_id = {};  ///< unique among the jobs of this user; [A-Za-z0-9-] only
  std::vector<AppRequest> apps = {};
  bool oversubscribe = false;
  BindingRequest binding = {};
  bool bind_by_count = false;              ///< bind as Open MPI does by default (docs/migrate/mpirun.md)
  bool threads_are_cpus = false;           ///< --use-hwthread-cpus: default binding is to threads, not cores
  std::optional<int> ranks_per_host = {};  ///< -N, --map-by ppr:N:node; -n still limits the total
  bool in_sequence = false;                ///< --map-by seq: one rank per entry of the host list
  /// --map-by block: as --map-by node, but each host's ranks have consecutive numbers
  bool in_blocks = false;
  bool in_rounds = false;  ///< as Hydra: when all slots have a rank, further ranks fill the hosts again, in order
  std::vector<RankPlace> rank_places = {};  ///< --rankfile: the places of all ranks; empty: not given
  std::string cpu_list = {};  ///< --cpu-list: the cores for ranks; '/' separates the ranks of a host; empty: all
  std::vector<Framework> frameworks = {};  ///< --env-for; without duplicates
  Visible visible = Visible::unchanged;    ///< --visible
  std::string rank_dir = {};               ///< --rank-dir, a template; empty: not set
  bool rank_table = false;          ///< --rank-table: ranks do not inherit RANK_TABLE_FILE etc. from the launcher
  Mpi mpi = Mpi::none;              ///< --mpi
  int restarts = 0;                 ///< --restarts
  std::optional<int> attempt = {};  ///< how often a resource manager requeued the job; empty: unknown
  int spares = 0;                   ///< --spares: the last hosts of the allocation get no ranks, and replace lost hosts
  std::vector<std::string> environment = {};  ///< environment of the launcher, NAME=VALUE
  bool no_environment = false;                ///< --no-env: ranks get only the variables in AppRequest::env
  bool whole_environment = false;             ///< --env-all: ranks get all variables of `environment`, as with srun
  std::string cwd = {};                       ///< working directory of the launcher; empty: the directory was removed
};

}  // namespace dlaunch::plan
