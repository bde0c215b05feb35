// The options of DeepSpeed's launcher, one row each, with their meaning in dlaunch, for --help and for the table in
// docs/migrate/others.md.
#include "cli/deepspeed/deepspeed.h"

namespace dlaunch::cli {
namespace {

// clang-format off
constexpr LauncherOption kDeepspeedOptions[] = {
    {{.names = "hostfile H", .takes = Arity::value, .value_name = "FILE",
      .help = "`-H NAME:N,...`, and devices 0 to N-1 of each host as `--include`; default: /job/hostfile, else only "
          "this machine"}},
    {{.names = "include i", .takes = Arity::value, .value_name = "HOSTS",
      .help = "`--include HOSTS`, with devices in ascending order; without a hostfile `--devices`"}},
    {{.names = "exclude e", .takes = Arity::value, .value_name = "HOSTS",
      .help = "`--include` of the other devices; without a hostfile `--exclude`"}},
    {{.names = "num-nodes", .takes = Arity::value, .value_name = "N",
      .help = "the first N hosts; more than 1 requires a hostfile"}},
    {{.names = "num-gpus num-accelerators", .takes = Arity::value, .value_name = "N",
      .help = "devices 0 to N-1 of each host, for any number of slots: `-N N --devices 0-(N-1)`"}},
    {{.names = "min-elastic-nodes", .takes = Arity::value, .value_name = "N",
      .help = "dlaunch does not add or remove hosts in a job: use --num_nodes"}, Support::refused},
    {{.names = "max-elastic-nodes", .takes = Arity::value, .value_name = "N",
      .help = "dlaunch does not add or remove hosts in a job: use --num_nodes"}, Support::refused},
    {{.names = "elastic-training", .help = "dlaunch does not add or remove hosts in a job: remove the "
          "option"}, Support::refused},
    {{.names = "master-port", .takes = Arity::value, .value_name = "PORT",
      .help = "`-x MASTER_PORT=PORT`; default: a free port instead of 29500"}},
    {{.names = "master-addr", .takes = Arity::value, .value_name = "HOST",
      .help = "with a hostfile: `-x MASTER_ADDR=HOST`; with `--no_ssh`: `--rendezvous HOST:PORT`"}},
    {{.names = "node-rank", .takes = Arity::value, .value_name = "N", .help = "`--node-rank N` with `--no_ssh`"}},
    {{.names = "no-ssh", .help = "`--same-line --nodes N`, started on each node with `DLAUNCH_KEY`"}},
    {{.names = "launcher", .takes = Arity::value, .value_name = "NAME",
      .help = "dlaunch starts the ranks itself, by ssh on other hosts"}, Support::ignored},
    {{.names = "launcher-args", .takes = Arity::value, .value_name = "WORDS",
      .help = "refused unless empty: pdsh, mpirun and srun are not used"}},
    {{.names = "comment", .takes = Arity::value, .value_name = "TEXT", .help = "the option is for srun"}, Support::ignored},
    {{.names = "account", .takes = Arity::value, .value_name = "NAME", .help = "the option is for srun"}, Support::ignored},
    {{.names = "module", .help = "`python3 -u -m MODULE args`"}},
    {{.names = "no-python", .help = "starts the program without Python; conflicts with `--module`"}},
    {{.names = "no-local-rank", .help = "does not add `--local_rank=L` before the script's arguments"}},
    {{.names = "no-ssh-check", .help = "dlaunch connects to every host before a rank starts, and reports each host that "
          "fails"}, Support::ignored},
    {{.names = "force-multi", .help = "uses ssh even for a single host; default: ranks of a single host start on this machine"}},
    {{.names = "ssh-port", .takes = Arity::value, .value_name = "PORT", .help = "`--ssh-port PORT`",
      .stands_for = "ssh-port={}"}},
    {{.names = "venv-script", .takes = Arity::value, .value_name = "FILE",
      .help = "activate the environment before you start dlaunch (it sends PATH to the hosts), or start "
          "a script with --no_python"}, Support::refused},
    {{.names = "save-pid",
      .help = "use dlaunch --as deepspeed --report-pid FILE …"}, Support::refused},
    {{.names = "enable-each-rank-log", .takes = Arity::value, .value_name = "DIR",
      .help = "`--output-filename DIR/YYYYmmddHHMMSS_rank{rank}.log:nocopy`"}},
    {{.names = "autotuning", .takes = Arity::value, .value_name = "HOW",
      .help = "DeepSpeed's tuner starts many jobs: run deepspeed without dlaunch"}, Support::refused},
    {{.names = "bind-cores-to-rank",
      .help = "`--cores-per-rank share`; OMP_NUM_THREADS stays unset, because OpenMP counts the rank's cores"}},
    {{.names = "bind-core-list", .takes = Arity::value, .value_name = "LIST",
      .help = "requires `--bind_cores_to_rank`: `--cpu-list pFIRST-LAST/…`, one equal part per rank of a host"}},
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
