// The options of DeepSpeed's launcher, one row each, with their meaning in dlaunch, for --help and for the table in
// docs/migrate/others.md.
#include "grammars/launchers.h"

namespace dlaunch::cli {
namespace {

// clang-format off
constexpr LauncherOption kDeepspeedOptions[] = {
    {{.names = "hostfile H", .takes = Arity::value, .value_name = "FILE",
      .help = "`-H NAME:N,...`, and `--include` with devices 0 to N-1 of each host; default: /job/hostfile, else only "
          "this machine"}},
    {{.names = "include i", .takes = Arity::value, .value_name = "HOSTS",
      .help = "`--include HOSTS`, with devices in ascending order; without a hostfile `--devices`"}},
    {{.names = "exclude e", .takes = Arity::value, .value_name = "HOSTS",
      .help = "`--include` with all other devices; without a hostfile `--exclude`"}},
    {{.names = "num-nodes", .takes = Arity::value, .value_name = "N",
      .help = "uses the first N hosts; more than 1 requires a hostfile"}},
    {{.names = "num-gpus num-accelerators", .takes = Arity::value, .value_name = "N",
      .help = "`-N N --devices 0-(N-1)`: devices 0 to N-1 of each host, even if the hostfile has another number of "
          "slots"}},
    {{.names = "min-elastic-nodes", .takes = Arity::value, .value_name = "N",
      .help = "use --num_nodes; dlaunch does not add or remove hosts during a job"}, Support::refused},
    {{.names = "max-elastic-nodes", .takes = Arity::value, .value_name = "N",
      .help = "use --num_nodes; dlaunch does not add or remove hosts during a job"}, Support::refused},
    {{.names = "elastic-training", .help = "remove the option; dlaunch does not add or remove hosts during a "
          "job"}, Support::refused},
    {{.names = "master-port", .takes = Arity::value, .value_name = "PORT",
      .help = "`-x MASTER_PORT=PORT`; default: a free port (DeepSpeed's default is 29500)"}},
    {{.names = "master-addr", .takes = Arity::value, .value_name = "HOST",
      .help = "with a hostfile: `-x MASTER_ADDR=HOST`; with `--no_ssh`: `--rendezvous HOST:PORT`"}},
    {{.names = "node-rank", .takes = Arity::value, .value_name = "N", .help = "`--node-rank N` with `--no_ssh`"}},
    {{.names = "no-ssh", .help = "`--same-line --nodes N`; run the command on each node, with `DLAUNCH_KEY`"}},
    {{.names = "launcher", .takes = Arity::value, .value_name = "NAME",
      .help = "dlaunch starts the ranks itself, and uses ssh for other hosts"}, Support::ignored},
    {{.names = "launcher-args", .takes = Arity::value, .value_name = "WORDS",
      .help = "WORDS must be empty, because dlaunch does not use pdsh, mpirun or srun"}},
    {{.names = "comment", .takes = Arity::value, .value_name = "TEXT", .help = "the option is for "
          "srun"}, Support::ignored},
    {{.names = "account", .takes = Arity::value, .value_name = "NAME", .help = "the option is for "
          "srun"}, Support::ignored},
    {{.names = "module", .help = "`python3 -u -m MODULE args`"}},
    {{.names = "no-python", .help = "starts the program without Python; conflicts with `--module`"}},
    {{.names = "no-local-rank", .help = "does not add `--local_rank=L` before the script's arguments"}},
    {{.names = "no-ssh-check", .help = "dlaunch always connects to all hosts before a rank starts, and reports each "
          "failed host"}, Support::ignored},
    {{.names = "force-multi", .help = "uses ssh even for a single host; default: the ranks of a single host start on "
          "this machine"}},
    {{.names = "ssh-port", .takes = Arity::value, .value_name = "PORT", .help = "`--ssh-port PORT`",
      .stands_for = "ssh-port={}"}},
    {{.names = "venv-script", .takes = Arity::value, .value_name = "FILE",
      .help = "activate the environment before you start dlaunch, which sends PATH to the hosts; or start a script "
          "with --no_python"}, Support::refused},
    {{.names = "save-pid",
      .help = "use dlaunch --as deepspeed --report-pid FILE …"}, Support::refused},
    {{.names = "enable-each-rank-log", .takes = Arity::value, .value_name = "DIR",
      .help = "`--output-filename DIR/YYYYmmddHHMMSS_rank{rank}.log:nocopy`"}},
    {{.names = "autotuning", .takes = Arity::value, .value_name = "HOW",
      .help = "run deepspeed without dlaunch, because DeepSpeed's tuner starts many jobs"}, Support::refused},
    {{.names = "bind-cores-to-rank",
      .help = "`--cores-per-rank share`: each rank gets an equal part of the host's cores; OMP_NUM_THREADS stays "
          "unset, because OpenMP counts the rank's cores"}},
    {{.names = "bind-core-list", .takes = Arity::value, .value_name = "LIST",
      .help = "`--cpu-list pFIRST-LAST/…` with an equal part of LIST for each rank of a host; requires "
          "`--bind_cores_to_rank`"}},
    {{.names = "log-level", .takes = Arity::value, .value_name = "LEVEL",
      .help = "the option is for DeepSpeed's launcher; use dlaunch's -v"}, Support::ignored},
    {{.names = "quiet q", .help = "`--quiet`", .stands_for = "quiet=true"}},
    {{.names = "help h", .takes = Arity::show, .help = "print this help"}},
};
// clang-format on

constexpr OwnDefault kDeepspeedDefaults[] = {{"env-for", "deepspeed"},
                                             {"env-all", "true"},
                                             {"visible", "host"},
                                             {"grace", "30"},
                                             {"ignore-resource-manager", "true"}};

constexpr LauncherSpec kDeepspeed{.name = "deepspeed",
                                  .options = kDeepspeedOptions,
                                  .joint = Joint::underscore,
                                  .defaults = kDeepspeedDefaults,
                                  .nodes = {"deepspeed", "--node_rank", "--master_addr", "HOST"},
                                  .make = make_deepspeed_job};

}  // namespace

const LauncherSpec& deepspeed_launcher() { return kDeepspeed; }

}  // namespace dlaunch::cli
