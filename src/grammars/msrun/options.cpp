// msrun's options, one row each, with their meaning in dlaunch, for --help and for the table in
// docs/migrate/others.md.
#include "grammars/msrun/msrun.h"

namespace dlaunch::cli {
namespace {

// clang-format off
constexpr LauncherOption kMsrunOptions[] = {
    {{.names = "worker-num", .takes = Arity::value, .value_name = "N",
      .help = "number of ranks on all nodes, default 8; if N is larger than L of `--local_worker_num`: `--same-line "
          "--nodes N/L` (run the command on each node, with `DLAUNCH_KEY`)"}},
    {{.names = "local-worker-num", .takes = Arity::value, .value_name = "L",
      .help = "`-N L`; default 8, or `--worker_num` if smaller"}},
    {{.names = "master-addr", .takes = Arity::value, .value_name = "HOST",
      .help = "one node: `-x MS_SCHED_HOST=HOST`; several nodes: `--rendezvous HOST:PORT`, and the scheduler runs on "
          "node 0"}},
    {{.names = "master-port", .takes = Arity::value, .value_name = "PORT",
      .help = "one node: `-x MS_SCHED_PORT=PORT` (default: a free port); several nodes: the port of `--rendezvous` "
          "(default: 8118)"}},
    {{.names = "node-rank", .takes = Arity::value, .value_name = "N",
      .help = "`--node-rank N` with several nodes; if missing or -1, the number comes from the "
          "environment (Slurm, …)"}},
    {{.names = "log-dir", .takes = Arity::value, .value_name = "DIR",
      .help = "`--output-filename DIR/worker_{rank}.log`; DIR also contains scheduler.log; default: the current "
          "directory"}},
    {{.names = "join", .takes = Arity::value, .value_name = "True/False",
      .help = "True: the ranks' output goes to files and to the console; False: only to files (`:nocopy`); in both "
          "cases dlaunch waits for the ranks"}},
    {{.names = "cluster-time-out", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`-x MS_TOPO_TIMEOUT=SECONDS`, default 600; several nodes: also `--wait-hosts SECONDS`"}},
    {{.names = "bind-core", .takes = Arity::value, .value_name = "True/False",
      .help = "True is `--bind-to device`; a JSON map of cores is refused (use `--rankfile`)"}},
    {{.names = "sim-level", .takes = Arity::value, .value_name = "0-3",
      .help = "`-x MS_SIMULATION_LEVEL=…` and `--env-for mindspore`, without a scheduler; default: the variable "
          "MS_SIMULATION_LEVEL"}},
    {{.names = "sim-rank-id", .takes = Arity::value, .value_name = "R",
      .help = "starts only rank R: `-x RANK_ID=R -x RANK_SIZE=N`; requires `--sim_level`"}},
    {{.names = "rank-table-file", .takes = Arity::value, .value_name = "FILE",
      .help = "`-x RANK_TABLE_FILE=FILE`; ranks still use the scheduler; `dlaunch --rank-table FILE` starts a job from "
          "the table instead"}},
    {{.names = "worker-log-name", .takes = Arity::value, .value_name = "NAME",
      .help = "writes the files DIR/NAME_{rank}.log; {hostname} and {ip} in NAME become {host}"}},
    {{.names = "tail-worker-log", .takes = Arity::value, .value_name = "LIST",
      .help = "`--ranks LIST` with `--join=True`; -1 selects all ranks"}},
    {{.names = "help h", .takes = Arity::show, .help = "print this help"}},
};
// clang-format on

constexpr OwnDefault kMsrunDefaults[] = {{"env-for", "mindspore-dynamic"},
                                         {"env-all", "true"},
                                         {"oversubscribe", "true"},
                                         {"ignore-resource-manager", "true"}};

constexpr LauncherSpec kMsrun{.name = "msrun",
                              .options = kMsrunOptions,
                              .joint = Joint::underscore,
                              .defaults = kMsrunDefaults,
                              .nodes = {"msrun", "--node_rank", "--master_addr", "HOST"},
                              .make = make_msrun_job};

}  // namespace

const LauncherSpec& msrun_launcher() { return kMsrun; }

}  // namespace dlaunch::cli
