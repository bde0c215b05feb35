// The options of DeepSpeed's launcher, a row each, with what they are here: read for --help and for the table in
// docs/migrate/others.md.
#include "cli/deepspeed/deepspeed.h"

namespace dlaunch::cli {
namespace {

// clang-format off
constexpr LauncherOption kDeepspeedOptions[] = {
    {{.names = "hostfile H", .takes = Arity::value, .value_name = "FILE",
      .help = "the hosts as `-H NAME:N,...` and their devices 0 to N-1 as `--include`; /job/hostfile without it, else "
          "this machine alone"}},
    {{.names = "include i", .takes = Arity::value, .value_name = "HOSTS",
      .help = "`--include HOSTS`, in ascending order of devices; on this machine alone `--devices`"}},
    {{.names = "exclude e", .takes = Arity::value, .value_name = "HOSTS",
      .help = "`--include` of what is left; on this machine alone `--exclude`"}},
    {{.names = "num-nodes", .takes = Arity::value, .value_name = "N",
      .help = "the first N hosts; more than 1 wants a hostfile"}},
    {{.names = "num-gpus num-accelerators", .takes = Arity::value, .value_name = "N",
      .help = "devices 0 to N-1 of each host, whatever its slots: `-N N --devices 0-(N-1)`"}},
    {{.names = "min-elastic-nodes", .takes = Arity::value, .value_name = "N",
      .help = "dlaunch does not add or lose hosts in a job: say --num_nodes"}, Support::refused},
    {{.names = "max-elastic-nodes", .takes = Arity::value, .value_name = "N",
      .help = "dlaunch does not add or lose hosts in a job: say --num_nodes"}, Support::refused},
    {{.names = "elastic-training", .help = "dlaunch does not add or lose hosts in a job: leave it "
          "out"}, Support::refused},
    {{.names = "master-port", .takes = Arity::value, .value_name = "PORT",
      .help = "`-x MASTER_PORT=PORT`; without it a free port, and not 29500"}},
    {{.names = "master-addr", .takes = Arity::value, .value_name = "HOST",
      .help = "`-x MASTER_ADDR=HOST` with a hostfile; with `--no_ssh` `--rendezvous HOST:PORT`"}},
    {{.names = "node-rank", .takes = Arity::value, .value_name = "N", .help = "`--node-rank N` with `--no_ssh`"}},
    {{.names = "no-ssh", .help = "a start on each node with `DLAUNCH_KEY` set: `--same-line --nodes N`"}},
    {{.names = "launcher", .takes = Arity::value, .value_name = "NAME",
      .help = "dlaunch starts the ranks itself, on other hosts by ssh"}, Support::ignored},
    {{.names = "launcher-args", .takes = Arity::value, .value_name = "WORDS",
      .help = "refused unless empty: they are for a launcher that does not run"}},
    {{.names = "comment", .takes = Arity::value, .value_name = "TEXT", .help = "it is for srun"}, Support::ignored},
    {{.names = "account", .takes = Arity::value, .value_name = "NAME", .help = "it is for srun"}, Support::ignored},
    {{.names = "module", .help = "`python3 -u -m MODULE args`"}},
    {{.names = "no-python", .help = "the program as it is; not with `--module`"}},
    {{.names = "no-local-rank", .help = "no `--local_rank=L` before the script's own arguments"}},
    {{.names = "no-ssh-check", .help = "dlaunch reaches every host before a rank starts, and names those that it "
          "cannot"}, Support::ignored},
    {{.names = "force-multi", .help = "the one host of a hostfile is reached by ssh; without it the ranks start here"}},
    {{.names = "ssh-port", .takes = Arity::value, .value_name = "PORT", .help = "`--ssh-port PORT`",
      .stands_for = "ssh-port={}"}},
    {{.names = "venv-script", .takes = Arity::value, .value_name = "FILE",
      .help = "dlaunch sources nothing: start a script that does, with --no_python, or activate it here, for PATH is "
          "sent"}, Support::refused},
    {{.names = "save-pid",
      .help = "write dlaunch's own: dlaunch --as deepspeed --report-pid FILE …"}, Support::refused},
    {{.names = "enable-each-rank-log", .takes = Arity::value, .value_name = "DIR",
      .help = "`--output-filename DIR/YYYYmmddHHMMSS_rank{rank}.log:nocopy`"}},
    {{.names = "autotuning", .takes = Arity::value, .value_name = "HOW",
      .help = "DeepSpeed's tuner starts many jobs: run deepspeed itself"}, Support::refused},
    {{.names = "bind-cores-to-rank",
      .help = "`--cores-per-rank share`; OMP_NUM_THREADS is left, since OpenMP counts the cores that a rank has"}},
    {{.names = "bind-core-list", .takes = Arity::value, .value_name = "LIST",
      .help = "with `--bind_cores_to_rank`: `--cpu-list` of as many equal parts as a host has ranks, as pFIRST-LAST/…"}},
    {{.names = "log-level", .takes = Arity::value, .value_name = "LEVEL",
      .help = "it is of DeepSpeed's launcher; -v says what dlaunch does"}, Support::ignored},
    {{.names = "quiet q", .help = "`--quiet`", .stands_for = "quiet=true"}},
    {{.names = "help h", .takes = Arity::show, .help = "print this"}},
};
// clang-format on

constexpr OwnDefault kDeepspeedDefaults[] = {
    {"env-for", "deepspeed"}, {"visible", "host"}, {"grace", "30"}, {"ignore-resource-manager", "true"}};

constexpr LauncherSpec kDeepspeed{.name = "deepspeed",
                                  .options = kDeepspeedOptions,
                                  .joint = Joint::underscore,
                                  .defaults = kDeepspeedDefaults,
                                  .make = make_deepspeed_job};

}  // namespace

const LauncherSpec& deepspeed_launcher() { return kDeepspeed; }

}  // namespace dlaunch::cli
