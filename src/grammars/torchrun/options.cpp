// torchrun's options, one row each, with their meaning in dlaunch, for --help and for the table in
// docs/migrate/torchrun.md.
#include "grammars/launchers.h"

namespace dlaunch::cli {
namespace {

// clang-format off
constexpr LauncherOption kTorchrunOptions[] = {
    {{.names = "nnodes", .takes = Arity::value, .value_name = "[MIN:]N",
      .help = "1: only this machine; N: `--same-line --nodes N` (run the command on each node, with `DLAUNCH_KEY`); "
          "MIN:N: the job starts with the nodes that connect in time"}},
    {{.names = "nproc-per-node", .takes = Arity::value, .value_name = "N",
      .help = "`-N N`; gpu: `-n devices`; cpu: `--fake-devices 0`; auto: one rank per device, or one per CPU if there "
          "are no devices"}},
    {{.names = "rdzv-backend", .takes = Arity::value, .value_name = "NAME",
      .help = "accepts static and c10d; refuses etcd, because dlaunch does not need a server"}},
    {{.names = "rdzv-endpoint", .takes = Arity::value, .value_name = "HOST[:PORT]",
      .help = "one node with `--rdzv-backend static`: `-x MASTER_ADDR=HOST -x MASTER_PORT=PORT`; several nodes: "
          "`--rendezvous HOST:PORT`"}},
    {{.names = "rdzv-id", .takes = Arity::value, .value_name = "ID",
      .help = "`-x TORCHELASTIC_RUN_ID=ID`, and part of a directory name in `--log-dir`"}},
    {{.names = "rdzv-conf", .takes = Arity::value, .value_name = "KEY=VALUE,...",
      .help = "with several nodes, join_timeout=S is `--wait-hosts S`, last_call_timeout=S is `--last-call S`, and "
          "is_host=1 is `--node-rank 0`; other keys change nothing"}},
    {{.names = "standalone", .help = "the default on one machine: a free port and an id per job"}},
    {{.names = "max-restarts", .takes = Arity::value, .value_name = "N",
      .help = "`--restarts N`: all ranks of all nodes restart, at most N times"}},
    {{.names = "monitor-interval", .takes = Arity::value, .value_name = "SECONDS",
      .help = "dlaunch detects the end of a rank at once"}, Support::ignored},
    {{.names = "start-method", .takes = Arity::value, .value_name = "NAME",
      .help = "each rank is a separate program"}, Support::ignored},
    {{.names = "event-log-handler", .takes = Arity::value, .value_name = "NAME",
      .help = "accepts null and console; refuses other handlers; use `--report FILE` to write the events"}},
    {{.names = "role", .takes = Arity::value, .value_name = "NAME",
      .help = "`-x ROLE_NAME=NAME`; the label of `--tee` contains the name"}},
    {{.names = "module m", .help = "`python3 -u -m MODULE args`"}},
    {{.names = "no-python", .help = "starts the program without Python; conflicts with `-m`"}},
    {{.names = "run-path", .help = "runs the file as a script: `python3 -u SCRIPT args`"}},
    {{.names = "log-dir", .takes = Arity::value, .value_name = "DIR",
      .help = "`-r`, `-t` and `--error-file` write stdout.log, stderr.log and error.json to "
          "DIR/ID_XXXXXXXX/attempt_0/{local_rank}/"}},
    {{.names = "redirects r", .takes = Arity::value, .value_name = "[L:]0-3,...",
      .help = "`--stdout-file` (1), `--stderr-file` (2) or both (3); `:local=L` limits the files to local rank L"}},
    {{.names = "tee t", .takes = Arity::value, .value_name = "[L:]0-3,...",
      .help = "same as `-r`, and the console also shows the output (`:copy`), with "
          "`--label='[default{local_rank}]:'`"}},
    {{.names = "local-ranks-filter", .takes = Arity::value, .value_name = "LIST", .help = "`--local-ranks LIST`"}},
    {{.names = "log-line-prefix-template", .takes = Arity::value, .value_name = "TEMPLATE",
      .help = "`--label` for the lines of `--tee`; ${rank} becomes {rank}, ${hostname} becomes {host}"}},
    {{.names = "node-rank", .takes = Arity::value, .value_name = "N",
      .help = "`--node-rank N` with several nodes; default: the number in the environment (`PET_…`, Slurm, …); "
          "without such a number, the host of the endpoint is node 0"}},
    {{.names = "master-addr", .takes = Arity::value, .value_name = "HOST",
      .help = "one node: `-x MASTER_ADDR=HOST`; several nodes: `--rendezvous HOST:PORT`"}},
    {{.names = "master-port", .takes = Arity::value, .value_name = "PORT",
      .help = "one node: `-x MASTER_PORT=PORT` (default: a free port); several nodes: the port of `--rendezvous` "
          "(default: 29500)"}},
    {{.names = "local-addr", .takes = Arity::value, .value_name = "HOST",
      .help = "ranks of one machine connect to 127.0.0.1"}, Support::ignored},
    {{.names = "numa-binding", .takes = Arity::value, .value_name = "HOW",
      .help = "node is `--bind-to device`; other values are refused"}},
    {{.names = "signals-to-handle", .takes = Arity::value, .value_name = "LIST",
      .help = "TERM, INT, HUP and QUIT end the job; ranks receive other signals"}, Support::ignored},
    {{.names = "shutdown-timeout", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`--grace SECONDS`; default 30", .stands_for = "grace={}"}},
    {{.names = "virtual-local-rank", .help = "`--visible rank`", .stands_for = "visible=rank"}},
    {{.names = "logs-specs", .takes = Arity::value, .value_name = "NAME",
      .help = "use --log-dir, -r and -t"}, Support::refused},
    {{.names = "duplicate-stdout-filters", .takes = Arity::value, .value_name = "LIST",
      .help = "use grep on the files of -t 3"}, Support::refused},
    {{.names = "duplicate-stderr-filters", .takes = Arity::value, .value_name = "LIST",
      .help = "use grep on the files of -t 3"}, Support::refused},
    {{.names = "help h", .takes = Arity::show, .help = "print this help"}},
    {{.names = "use-env", .help = "does not add `--local_rank=L` before the script's "
          "arguments"}},  // only torch.distributed.launch
};
// clang-format on

constexpr std::span<const LauncherOption> kAll = kTorchrunOptions;

constexpr OwnDefault kTorchrunDefaults[] = {{"env-for", "torchrun"},
                                            {"env-all", "true"},
                                            {"oversubscribe", "true"},
                                            {"grace", "30"},
                                            {"ignore-resource-manager", "true"}};

constexpr LauncherSpec kTorchrun{.name = "torchrun",
                                 .options = kAll.first(kAll.size() - 1),
                                 .variables = "PET_",
                                 .defaults = kTorchrunDefaults,
                                 .nodes = {"torchrun", "--node-rank", "--rdzv-endpoint", "HOST:PORT"},
                                 .make = make_torchrun_job};
constexpr LauncherSpec kLaunch{.name = "torch.distributed.launch",
                               .options = kAll,
                               .variables = "PET_",
                               .defaults = kTorchrunDefaults,
                               .nodes = {"torch.distributed.launch", "--node-rank", "--rdzv-endpoint", "HOST:PORT"},
                               .make = make_torch_launch_job};

}  // namespace

const LauncherSpec& torchrun_launcher() { return kTorchrun; }
const LauncherSpec& torch_launch_launcher() { return kLaunch; }

}  // namespace dlaunch::cli
