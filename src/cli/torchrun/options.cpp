// torchrun's options, a row each, with what they are here: read for --help and for the table in docs/migrate/torchrun.md.
#include "cli/torchrun/torchrun.h"

namespace dlaunch::cli {
namespace {

// clang-format off
constexpr LauncherOption kTorchrunOptions[] = {
    {{.names = "nnodes", .takes = Arity::value, .value_name = "N|MIN:MAX",
      .help = "1: this machine alone. More: `--same-line --nodes N`, a start on each with `DLAUNCH_KEY` set; with a "
          "range as many as have come, and none comes or goes later"}},
    {{.names = "nproc-per-node", .takes = Arity::value, .value_name = "N",
      .help = "`-N N`; gpu: `-n devices`; cpu: `--fake-devices 0`; auto: a rank for each device, else for each CPU"}},
    {{.names = "rdzv-backend", .takes = Arity::value, .value_name = "NAME",
      .help = "static and c10d; etcd is refused, since no server is needed"}},
    {{.names = "rdzv-endpoint", .takes = Arity::value, .value_name = "HOST[:PORT]",
      .help = "static on one node: `-x MASTER_ADDR=HOST -x MASTER_PORT=PORT`; on several: `--rendezvous HOST:PORT`"}},
    {{.names = "rdzv-id", .takes = Arity::value, .value_name = "ID",
      .help = "`-x TORCHELASTIC_RUN_ID=ID`, and the name of the directory of `--log-dir`"}},
    {{.names = "rdzv-conf", .takes = Arity::value, .value_name = "KEY=VALUE,...",
      .help = "join_timeout=S: `--wait-hosts S`, last_call_timeout=S: `--last-call S`, is_host=1: "
          "`--node-rank 0`, with several nodes; the rest changes nothing"}},
    {{.names = "standalone", .help = "always so on one machine: a free port, an id of the job's own"}},
    {{.names = "max-restarts", .takes = Arity::value, .value_name = "N",
      .help = "`--restarts N`: all ranks of all nodes start again, at most N times in all"}},
    {{.names = "monitor-interval", .takes = Arity::value, .value_name = "SECONDS",
      .help = "dlaunch learns of a rank's end at once"}, Support::ignored},
    {{.names = "start-method", .takes = Arity::value, .value_name = "NAME",
      .help = "each rank is a program of its own"}, Support::ignored},
    {{.names = "event-log-handler", .takes = Arity::value, .value_name = "NAME",
      .help = "null and console; others are refused: `--report FILE` has what happened"}},
    {{.names = "role", .takes = Arity::value, .value_name = "NAME",
      .help = "`-x ROLE_NAME=NAME`, and in the label of `--tee`"}},
    {{.names = "module m", .help = "`python3 -u -m MODULE args`"}},
    {{.names = "no-python", .help = "the program as it is; not with `-m`"}},
    {{.names = "run-path", .help = "as a script: `python3 -u SCRIPT args`"}},
    {{.names = "log-dir", .takes = Arity::value, .value_name = "DIR",
      .help = "`--error-file` and what `-r` and `-t` keep: DIR/ID_XXXXXXXX/attempt_0/{local_rank}/error.json, "
          "stdout.log, stderr.log"}},
    {{.names = "redirects r", .takes = Arity::value, .value_name = "0-3|L:0-3,...",
      .help = "`--stdout-file` (1), `--stderr-file` (2) or both (3); for local rank L alone with `:local=L`"}},
    {{.names = "tee t", .takes = Arity::value, .value_name = "0-3|L:0-3,...",
      .help = "the same files with `:copy`, and `--label='[default{local_rank}]:'`"}},
    {{.names = "local-ranks-filter", .takes = Arity::value, .value_name = "LIST", .help = "`--local-ranks LIST`"}},
    {{.names = "log-line-prefix-template", .takes = Arity::value, .value_name = "TEMPLATE",
      .help = "`--label` of `--tee`: ${rank} is {rank}, ${hostname} {host}"}},
    {{.names = "node-rank", .takes = Arity::value, .value_name = "N",
      .help = "`--node-rank N` with several nodes; without it the place says it (`PET_…`, Slurm, …), or node 0 is where the endpoint is"}},
    {{.names = "master-addr", .takes = Arity::value, .value_name = "HOST",
      .help = "`-x MASTER_ADDR=HOST` on one node; `--rendezvous HOST:PORT` on several"}},
    {{.names = "master-port", .takes = Arity::value, .value_name = "PORT",
      .help = "`-x MASTER_PORT=PORT`; without it a free port, and not 29500"}},
    {{.names = "local-addr", .takes = Arity::value, .value_name = "HOST",
      .help = "ranks of one machine meet at 127.0.0.1"}, Support::ignored},
    {{.names = "numa-binding", .takes = Arity::value, .value_name = "HOW",
      .help = "node: `--bind-to device`; others are refused"}},
    {{.names = "signals-to-handle", .takes = Arity::value, .value_name = "LIST",
      .help = "TERM, INT, HUP and QUIT end the job, others reach the ranks"}, Support::ignored},
    {{.names = "shutdown-timeout", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`--grace SECONDS`; 30 without it", .stands_for = "grace={}"}},
    {{.names = "virtual-local-rank", .help = "`--visible rank`", .stands_for = "visible=rank"}},
    {{.names = "logs-specs", .takes = Arity::value, .value_name = "NAME",
      .help = "it is Python of torchrun's own; --log-dir, -r and -t keep the ranks' output"}, Support::refused},
    {{.names = "duplicate-stdout-filters", .takes = Arity::value, .value_name = "LIST",
      .help = "dlaunch writes no second file of chosen lines; grep them from those of -t 3"}, Support::refused},
    {{.names = "duplicate-stderr-filters", .takes = Arity::value, .value_name = "LIST",
      .help = "dlaunch writes no second file of chosen lines; grep them from those of -t 3"}, Support::refused},
    {{.names = "help h", .takes = Arity::show, .help = "print this"}},
    {{.names = "use-env", .help = "no `--local_rank=L` before the script's own arguments"}},  // of launch alone
};
// clang-format on

constexpr std::span<const LauncherOption> kAll = kTorchrunOptions;

constexpr OwnDefault kTorchrunDefaults[] = {
    {"env-for", "torchrun"}, {"oversubscribe", "true"}, {"grace", "30"}, {"ignore-resource-manager", "true"}};

constexpr LauncherSpec kTorchrun{.name = "torchrun",
                                 .options = kAll.first(kAll.size() - 1),
                                 .variables = "PET_",
                                 .defaults = kTorchrunDefaults,
                                 .make = make_torchrun_job};
constexpr LauncherSpec kLaunch{.name = "torch.distributed.launch",
                               .options = kAll,
                               .variables = "PET_",
                               .defaults = kTorchrunDefaults,
                               .make = make_torch_launch_job};

}  // namespace

const LauncherSpec& torchrun_launcher() { return kTorchrun; }
const LauncherSpec& torch_launch_launcher() { return kLaunch; }

}  // namespace dlaunch::cli
