// msrun's options, a row each, with what they are here: read for --help and for the table in docs/migrate/others.md.
#include "cli/msrun/msrun.h"

namespace dlaunch::cli {
namespace {

// clang-format off
constexpr LauncherOption kMsrunOptions[] = {
    {{.names = "worker-num", .takes = Arity::value, .value_name = "N",
      .help = "ranks of all nodes, 8 without it; with more than `--local_worker_num`: `--same-line --nodes N/L`, a "
          "start on each with `DLAUNCH_KEY` set"}},
    {{.names = "local-worker-num", .takes = Arity::value, .value_name = "L",
      .help = "`-N L`; without it 8, or what `--worker_num` has if that is less"}},
    {{.names = "master-addr", .takes = Arity::value, .value_name = "HOST",
      .help = "`-x MS_SCHED_HOST=HOST` on one node; `--rendezvous HOST:PORT` on several, whose scheduler is on node "
          "0"}},
    {{.names = "master-port", .takes = Arity::value, .value_name = "PORT",
      .help = "`-x MS_SCHED_PORT=PORT` on one node, a free port without it; on several the port of `--rendezvous`, "
          "8118 without it"}},
    {{.names = "node-rank", .takes = Arity::value, .value_name = "N",
      .help = "`--node-rank N` with several nodes; -1 or nothing: the place says it (Slurm, …)"}},
    {{.names = "log-dir", .takes = Arity::value, .value_name = "DIR",
      .help = "`--output-filename DIR/worker_{rank}.log`, with scheduler.log beside; without it here"}},
    {{.names = "join", .takes = Arity::value, .value_name = "True/False",
      .help = "True: what ranks write is shown, too. False: only in the files (`:nocopy`); dlaunch waits for the "
          "ranks all the same"}},
    {{.names = "cluster-time-out", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`-x MS_TOPO_TIMEOUT=SECONDS`, 600 without it; with several nodes `--wait-hosts SECONDS`, too"}},
    {{.names = "bind-core", .takes = Arity::value, .value_name = "True/False",
      .help = "True: `--bind-to device`; a JSON map of cores is refused: write it as a `--rankfile`"}},
    {{.names = "sim-level", .takes = Arity::value, .value_name = "0-3",
      .help = "`-x MS_SIMULATION_LEVEL=…` without a scheduler, also by that variable; `--env-for mindspore`"}},
    {{.names = "sim-rank-id", .takes = Arity::value, .value_name = "R",
      .help = "with `--sim_level`: one rank with `-x RANK_ID=R -x RANK_SIZE=N`"}},
    {{.names = "rank-table-file", .takes = Arity::value, .value_name = "FILE",
      .help = "`-x RANK_TABLE_FILE=FILE`: ranks still meet by the scheduler; `dlaunch --rank-table FILE` is a job by "
          "the table"}},
    {{.names = "worker-log-name", .takes = Arity::value, .value_name = "NAME",
      .help = "the files are DIR/NAME_{rank}.log; {hostname} is {host}, and so is {ip}"}},
    {{.names = "tail-worker-log", .takes = Arity::value, .value_name = "LIST",
      .help = "with `--join=True`: `--ranks LIST`; -1 is all"}},
    {{.names = "help h", .takes = Arity::show, .help = "print this"}},
};
// clang-format on

constexpr OwnDefault kMsrunDefaults[] = {
    {"env-for", "mindspore-dynamic"}, {"oversubscribe", "true"}, {"ignore-resource-manager", "true"}};

constexpr LauncherSpec kMsrun{.name = "msrun",
                              .options = kMsrunOptions,
                              .joint = Joint::underscore,
                              .defaults = kMsrunDefaults,
                              .make = make_msrun_job};

}  // namespace

const LauncherSpec& msrun_launcher() { return kMsrun; }

}  // namespace dlaunch::cli
