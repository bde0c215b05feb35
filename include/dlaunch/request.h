// What the user asked of the planner. A value that has all defaults filled in.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlaunch::plan {

/// `-x VAR` (no value: the launcher's own), `-x VAR=VALUE`, `-x 'PREFIX_*'` (name ends with '*', no value).
struct EnvSetting {
  std::string name = {};
  std::optional<std::string> value = {};
};

/// One program of the job; several where the command line has `a : b` or --app.
struct AppRequest {
  std::vector<std::string> argv = {};
  std::optional<int> ranks = {};  ///< -n
  bool for_devices = false;       ///< -n devices: no host without devices may be among the job's
  std::string wdir = {};          ///< absolute; empty: the launcher's own
  std::vector<EnvSetting> env = {};
  int pool = 0;  ///< index into Allocation::pools, where there are any
};

/// What --env-for can name: ranks get these variables (docs/frameworks.md).
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

/// Which devices a rank sees (docs/frameworks.md). unchanged: what the launcher's own environment leaves it.
enum class Visible { unchanged, host, rank };

/// Which MPI is served to the ranks (docs/mpi.md). automatic: what each program may use, unless a framework would
/// misread its variables. pmi1, pmi2: both over one connection, on which a client says which it speaks. pmix: with all
/// that Open MPI's own launcher tells a rank.
enum class Mpi { automatic, pmi1, pmi2, pmix, none };

enum class BindTo { none, core, hwthread, socket, numa, device };
enum class MapBy { slot, core, hwthread, socket, numa, node };
enum class RankBy { slot, node, core, socket };

inline constexpr int kEqualShare = 0;  ///< of BindingRequest::cores_per_rank: the host's cores over its ranks

/// How local ranks are placed on a host's CPUs. The host computes the masks, because it knows its topology.
struct BindingRequest {
  BindTo bind_to = BindTo::none;
  MapBy map_by = MapBy::slot;
  RankBy rank_by = RankBy::slot;
  bool report = false;        ///< --report-bindings
  int cores_per_rank = 1;     ///< --cores-per-rank, or kEqualShare; with BindTo::hwthread, threads
  bool overload = false;      ///< ranks may share a core or thread where there are too few
  bool if_supported = false;  ///< where there are too few, no rank is bound
  bool operator==(const BindingRequest&) const = default;
};

/// A line of a rankfile: where one rank goes.
struct RankPlace {
  int rank = 0;
  std::string host = {};   ///< a name in the allocation, or "+n2": its third host
  std::string slots = {};  ///< slot=: the CPUs to bind to (docs/hosts.md); empty: not said
  std::string from = {};   ///< "ranks:3"
};

/// Which ranks get the launcher's stdin.
struct StdinTarget {
  enum class Kind { none, all, rank } kind = Kind::rank;
  int rank = 0;
  bool operator==(const StdinTarget&) const = default;
};

/// What is done about a host key that no known_hosts file has (ssh_config's StrictHostKeyChecking).
enum class HostKey { strict, accept_new, off };

struct Request {
  std::string job_id = {};  ///< unique among the jobs of this user; [A-Za-z0-9-] only
  std::vector<AppRequest> apps = {};
  bool oversubscribe = false;
  BindingRequest binding = {};
  bool bind_by_count = false;              ///< bind as Open MPI does by default (docs/mpirun.md)
  bool threads_are_cpus = false;           ///< --use-hwthread-cpus: default binding is to threads, not cores
  std::optional<int> ranks_per_host = {};  ///< -N, --map-by ppr:N:node; -n still limits the total
  bool in_sequence = false;                ///< --map-by seq: a rank for each entry of the host list
  bool in_blocks = false;                  ///< --map-by block: dealt out as by node, and numbered host by host
  bool in_rounds = false;  ///< as Hydra: ranks beyond the slots fill the hosts again, one after the other
  std::vector<RankPlace> rank_places = {};  ///< --rankfile; when not empty it places every rank
  std::string cpu_list = {};  ///< --cpu-list: the cores of ranks, with '/' of a host's ranks in turn; empty: all
  std::vector<Framework> frameworks = {};  ///< --env-for; none twice
  Visible visible = Visible::unchanged;    ///< --visible
  std::string rank_dir = {};               ///< --rank-dir, a template; empty: none
  bool rank_table = false;          ///< --rank-table: the launcher's own RANK_TABLE_FILE and the like are not passed on
  Mpi mpi = Mpi::none;              ///< --mpi
  int restarts = 0;                 ///< --restarts
  std::optional<int> attempt = {};  ///< how often a resource manager has queued the job again; none: not known
  int spares = 0;                   ///< --spares: the last hosts of the allocation get no rank, and replace lost ones
  std::vector<std::string> environment = {};  ///< the launcher's, NAME=VALUE
  bool no_environment = false;                ///< --no-env: ranks get only what AppRequest::env names of it
  std::string cwd = {};                       ///< the launcher's; empty: it is gone
};

}  // namespace dlaunch::plan
