#include "cli/help.h"

#include "cli/option_spec.h"

namespace dlaunch::cli {
namespace {

// Texts for reflowed() (cli/help.h).
// clang-format off
constexpr HelpPage kPages[] = {
    {.names = "hosts host hostfile",
     .title = "Print the hosts, their slots and devices, and start nothing",
     .text = R"page(
dlaunch takes the hosts from the first of these sources that exists: -H, --hostfile, the batch system,
--default-hostfile, this machine. A slot is the capacity for one rank. dlaunch hosts connects to a host only if the
number of its slots is unknown.

Columns:
  host       the name as given; "(spare)" marks a spare host
  slots      number of slots
  from       source of the number: --fake-hosts, FILE:LINE, a variable of the batch system, ...
  devices    kind and numbers of the devices that the ranks get
  reached    "by name", or the user, port, key, jump host and agent from the hostfile
  directory  working directory from the hostfile; only if the file sets one

Exit codes: 0 the hosts are printed; 2 the options or files are not valid; 125 a host cannot be reached.

--format json prints the list as JSON.

Examples:
  dlaunch hosts --hostfile hosts
  dlaunch hosts --fake-hosts 2x4
  dlaunch --hostfile hosts -N 8 python3 train.py

To run a program named hosts, use dlaunch -- hosts or dlaunch ./hosts.
)page",
     .options = "host hostfile default-hostfile fake-hosts include exclude max-slots N oversubscribe nolocal "
                "ignore-resource-manager rankfile format",
     .usage = "dlaunch hosts [options]"},
    {.names = "check",
     .title = "Connect to every host, check that the job can run there, and start nothing",
     .text = R"page(
dlaunch check connects to all hosts at the same time and prints one row per host. If there are more than 16 hosts,
hosts with equal results share a row. dlaunch then prints the failed checks on stderr, each with a hint. The options
for hosts, directory, program and environment are the same as for a job.

Columns:
  host           name of the host
  agent          version of dlaunch's agent, or "not reached"
  cpus, devices  the CPUs and devices of the host
  directory      yes: ranks can start in the working directory
  program        path of the program on the host, found with the PATH of the ranks
  script         yes: the interpreter can read the script
  clock          "right", or the difference; the check fails if the difference is more than 1 s
  /dev/shm free  free shared memory
  open files     limit of open files per process
  names          "all": the host resolves its own name and the names of all other hosts

Exit codes: 0 all checks passed; 1 a check failed; 2 the options or files are not valid; 125 a host cannot be reached.

--format json prints the results as JSON. --ascend tests the network between Ascend devices instead: each host tests
the network to one other host, its peer. The columns are the host, the peer, and one result per device.

Examples:
  dlaunch check --hostfile hosts python3 train.py
  dlaunch check -H node1,node2 --format json

To run a program named check, use dlaunch -- check or dlaunch ./check.
)page",
     .options = "ascend format host hostfile fake-hosts wdir x wait-hosts",
     .usage = "dlaunch check [options] [program [args]]"},

    {.names = "programs program ranks",
     .title = "Start one or several programs",
     .text = R"page(
dlaunch starts N ranks of a program; every rank is one process. The program is the first word that is not an option. A
lone : begins the next program. All programs belong to one job, and rank numbers continue from one program to the
next. Without -n, dlaunch starts one rank per slot. This machine has one slot per device, or one per CPU if there are
no devices. dlaunch does not use a shell; for pipes and variables use sh -c '...'.

  dlaunch -n 8 python3 train.py
  dlaunch -n 1 ./server : -n 4 -x ROLE=client ./client
)page",
     .options = "n N app wdir stdin oversubscribe"},
    {.names = "directories files directory stage",
     .title = "Working directories and files of the ranks",
     .text = R"page(
Ranks start in the current directory. The directory must exist on every host; --wdir selects another directory. With
--rank-dir, every rank runs in a separate directory on its host. --stage sends files to the hosts and copies them into
these directories.

  dlaunch -n 8 --rank-dir 'device{rank}' --stage '../*.py,conf' python3 train.py
)page",
     .options = "wdir rank-dir stage save-env"},
    {.names = "as migrate launchers personality",
     .title = "Run the command line of another launcher",
     .text = R"page(
dlaunch reads the command lines of torchrun, mpirun, mpiexec (Open MPI and Hydra), srun, msrun, deepspeed, horovodrun
and accelerate. Put --as and the launcher's name before the launcher's options. A link with the launcher's name works
without --as. dlaunch rejects options that it cannot translate, and prints a hint. To see the equivalent dlaunch
options without starting the job, set DLAUNCH_DRY_RUN=1.

  dlaunch --as torchrun --nproc-per-node 8 train.py
  dlaunch --as mpirun -np 4 ./a.out
  dlaunch --as srun -n 4 ./a.out
  dlaunch --as torchrun --help
)page",
     .options = "as dry-run show-config"},
    {.names = "connections ssh transport connection",
     .title = "Connections to the hosts",
     .text = R"page(
dlaunch starts one agent per host and copies the agent to the host if needed. Remote hosts need no installation.
dlaunch uses ssh with your ssh configuration, or the commands of the batch system. --exec replaces ssh with any
command that reaches a host. dlaunch never asks for a password: use keys or an ssh agent. For ranks on this machine,
dlaunch does not use ssh.

  dlaunch -H node1,node2 --ssh-port 2222 hostname
  dlaunch -H pod1,pod2 --exec 'kubectl exec -i {host} --' hostname
)page",
     .options = "transport exec host-key ssh-port ssh-identity agent-path wait-hosts hosts-at-once "
             "heartbeat pause-limit port"},
    {.names = "batch slurm pbs lsf sge flux cobalt batch-systems",
     .title = "Jobs in a batch system",
     .text = R"page(
Inside a job of Slurm, PBS, LSF, Grid Engine, Flux or Cobalt, dlaunch uses the hosts and slots of the job. You do not
need an option. The batch system starts the agents: Slurm by srun, PBS by pbs_tmrsh, pbsdsh or aprun, LSF by blaunch,
Grid Engine by qrsh, and Flux by flux exec. On Cobalt, dlaunch uses ssh. -H and --hostfile override the hosts of the
job. The command `dlaunch hosts` and the options --dry-run and -v print how dlaunch reaches the hosts. Start dlaunch
once per job, not as several tasks of srun. With --same-line, start dlaunch on every node instead.

  salloc -N 2 --ntasks-per-node=4 dlaunch python3 train.py
  dlaunch --ignore-resource-manager -n 2 ./a.out
)page",
     .options = "ignore-resource-manager transport port hostfile checkpoint-signal"},
    {.names = "nodes same-line kubernetes without-ssh",
     .title = "One command on every node, without ssh",
     .text = R"page(
With --same-line, start the same command on every node, for example in an Indexed Job of Kubernetes or on AWS Batch.
Node 0 starts the job and prints the output. The other nodes connect to node 0, run ranks of the job, and exit with
the job's exit code. All nodes need the same key: --key-file, or the variable DLAUNCH_KEY. In Kubernetes, AWS Batch
and Slurm, variables give the number of each node; elsewhere, set --node-rank.

  openssl rand -hex 32 >job.key; chmod 600 job.key
  dlaunch --same-line --rendezvous node1:29400 --nodes 2 --node-rank 0 --key-file job.key hostname
)page",
     .options = "same-line rendezvous nodes node-rank last-call key-file wait-hosts"},
    {.names = "devices gpus gpu npu ascend",
     .title = "GPUs and NPUs",
     .text = R"page(
dlaunch finds the NVIDIA, AMD and Ascend devices of this machine. Without -n, dlaunch starts one rank per device. The
variable DEVICE_ID of a rank contains the number of its device. More ranks than devices require --oversubscribe. Ranks
see all devices unless --visible limits the devices. For other hosts, set devices= in the hostfile. --rank-table
starts the job that an Ascend rank table describes.

  dlaunch --devices 4-7 --visible rank python3 train.py
  dlaunch -n 8 --fake-devices 8 --dry-run python3 train.py
)page",
     .options = "devices visible n oversubscribe include exclude fake-devices rank-table product"},
    {.names = "environment variables env frameworks",
     .title = "Environment variables of the ranks",
     .text = R"page(
Ranks inherit the environment of dlaunch. Ranks on other hosts do not inherit variables that are valid only on this
machine, such as HOME and SHELL. Every rank gets RANK_ID, RANK_SIZE, DEVICE_ID, and DLAUNCH_JOB_ID,
DLAUNCH_RANK, DLAUNCH_SIZE, DLAUNCH_LOCAL_RANK, DLAUNCH_LOCAL_SIZE, DLAUNCH_NODE_RANK, DLAUNCH_NUM_NODES, DLAUNCH_HOST
and DLAUNCH_DEVICE. --env-for adds the variables that a framework reads, for example RANK, WORLD_SIZE and MASTER_ADDR
for PyTorch. -x sets one variable and overrides all other sources. --show-env prints the environment of one rank.

  dlaunch -n 4 --env-for torch python3 train.py
  dlaunch -n 4 -x OMP_NUM_THREADS=2 -x 'NCCL_*' ./a.out
  dlaunch -n 4 --env-for torch --show-env 3 python3 train.py
)page",
     .options = "x env-file no-env env-all env-for visible show-env save-env"},
    {.names = "mpi",
     .title = "MPI programs",
     .text = R"page(
Programs linked with Open MPI or a library of the MPICH family start as one MPI world, on one or several hosts,
without any option. Scripts, Python programs and debuggers may start the MPI program. Several programs separated by :
form one world. With --mpi none, every rank is an MPI world of size 1. To run an mpirun command line unchanged, use --as
mpirun.

  dlaunch -n 4 ./a.out
  dlaunch -n 16 --hostfile hosts python3 script.py
)page",
     .options = "mpi as map-by bind-to"},
    {.names = "output logs input stdin labels",
     .title = "Output, log files and input of the ranks",
     .text = R"page(
dlaunch prints the stdout and stderr of all ranks in whole lines. Lines of different ranks never mix. --label begins
each line with the rank number. --output-filename keeps one log directory per rank; --stdout-file and --stderr-file
write one stream to a file instead of the console. All files are on the machine where dlaunch runs. Rank 0 reads
dlaunch's stdin; --stdin selects another rank.

  dlaunch -n 4 --label python3 train.py
  dlaunch -n 4 --output-filename logs python3 train.py
  dlaunch -n 4 --stdout-file 'logs/{rank}.out' --stderr-file 'logs/{rank}.err' python3 train.py
)page",
     .options = "label fold console-rate group-output tag-output timestamp-output output-filename stdout-file stderr-file error-file "
                "keep-logs merge-stderr-to-stdout ranks local-ranks raw color status format pty escape "
                "on-output-error stdin"},
    {.names = "binding cores bind cpus placement",
     .title = "Place ranks on hosts and bind them to cores",
     .text = R"page(
Ranks fill the slots of one host after the other; --map-by selects another order. By default, dlaunch does not bind
ranks to cores. --bind-to core binds each rank to one core; --cores-per-rank binds each rank to several cores.
--report-bindings prints the CPUs of each running rank.

  dlaunch -n 4 --bind-to core --report-bindings ./a.out
  dlaunch -n 4 --cores-per-rank 8 ./a.out
  dlaunch -n 4 --map-by node --hostfile hosts ./a.out
)page",
     .options = "bind-to map-by rank-by cores-per-rank cpu-list use-hwthread-cpus report-bindings rankfile N"},
    {.names = "failures failure timeout timeouts signals",
     .title = "Failed ranks, time limits and signals",
     .text = R"page(
The first rank that fails ends the job: dlaunch sends SIGTERM to all other ranks, waits for --grace, and sends
SIGKILL. The summary names the first failed rank. The exit code is the code of this rank. With --on-failure continue
the other ranks run to their end. Ctrl-C ends the job; a second Ctrl-C kills all ranks. No process of the job remains
on any host, even if dlaunch is killed.

  dlaunch -n 4 --timeout 3600 --grace 30 python3 train.py
)page",
     .options = "on-failure grace timeout wait-after-first on-output-error"},
    {.names = "restarts restart spares",
     .title = "Restart after a failure",
     .text = R"page(
With --restarts N a failure ends all ranks, and then all ranks start again, up to N times. Each start is a round;
DLAUNCH_ROUND contains the number of the round. Programs should load their last checkpoint at the start. The first
restart is immediate. If later rounds end within 60 s, dlaunch waits 1 to 60 s before the next restart. --spares
reserves hosts that replace lost hosts. With --restarts, ranks cannot read dlaunch's stdin.

  dlaunch --hostfile hosts -n 16 --restarts 3 --spares 1 python3 train.py
)page",
     .options = "restarts spares shrink no-restart-codes on-hang heartbeat"},
    {.names = "hangs hang progress stuck",
     .title = "Detect hangs",
     .text = R"page(
If no rank writes output or makes progress for --hang-after, dlaunch prints the stacks, state and CPU use of all
ranks. The job continues unless --on-hang selects another action. With --progress dlaunch reads a step number from the
output of the ranks, and reports ranks that lag. dlaunch stacks JOB prints the stacks of a running job at any time.

  dlaunch -n 8 --hang-after 5m --on-hang end python3 train.py
  dlaunch -n 8 --progress 'step (\d+)' python3 train.py
)page",
     .options = "hang-after on-hang progress progress-lag stacks-on"},
    {.names = "preemption preempt checkpoint",
     .title = "Save state before the hosts are taken back",
     .text = R"page(
A batch system or Kubernetes can take the hosts of a job back. With --checkpoint-signal dlaunch then sends a signal to
the ranks and waits for --preempt-grace, so that the ranks can save their state. Only ranks with a handler for the
signal receive the signal. If all ranks exit with 0, the exit code is 75, and you should queue the job again.

  dlaunch -n 8 --checkpoint-signal USR1 --preempt-grace 60 python3 train.py
)page",
     .options = "checkpoint-signal preempt-grace preempted-code restarts"},
    {.names = "plan inspect dry-run report",
     .title = "Print the plan, the environment and the record of a job",
     .text = R"page(
--dry-run prints the host and device of each rank, and starts nothing. --show-env and --show-config print the
variables and the options. --report writes the record of the job as JSON: hosts, process ids, exit codes and times of
all ranks. dlaunch hosts and dlaunch check inspect the hosts.

  dlaunch -n 8 --hostfile hosts --dry-run python3 train.py
  dlaunch -n 8 --report job.json python3 train.py
)page",
     .options =
             "dry-run show-env show-config display-map display-allocation report junit summary report-pid verbose "
             "quiet format ascend"},
    {.names = "configuration config defaults",
     .title = "Configuration file and DLAUNCH_* variables",
     .text = R"page(
The value of an option comes from the first of these sources that sets the option: the command line, the variable
DLAUNCH_NAME, the configuration file, the default. The file is ~/.config/dlaunch/config.toml, or
$XDG_CONFIG_HOME/dlaunch/config.toml, or the file of --config or DLAUNCH_CONFIG. Keys are the names of options;
docs/options.md lists them. In the name of a variable, write _ for -. --pty=false on the command line turns off the
flag --pty. dlaunch prints a note about an unknown variable and ignores the variable. --show-config prints the source
of each value.

  grace = 10
  label = "[{rank}] "
  tag-output = false
)page",
     .options = "config show-config help help-all version"},
    {.names = "values durations lists time duration",
     .title = "Durations and lists",
     .text = R"page(
TIME is a number of seconds or a duration: 90, 90s, 5m, 1h30m and 00:05:00 are valid. A list of ranks or devices has
commas and ranges: 0,3-5. A list of hosts has commas, ranges and slots: node[1-4]:8,gpu1. Long options have one dash
or two. The value follows a space or an equals sign: --grace 10, -grace=10.

  dlaunch -n 4 --timeout 1h30m --ranks 0,3 ./a.out
)page",
     .options = "timeout ranks host devices"},
    {.names = "exit-codes exit codes status",
     .title = "Exit status",
     .text = R"page(
The exit code is 0 only if every rank exited with 0. Otherwise the first cause sets the exit code:

  0         every rank exited with 0
  N         exit code of the first rank that failed
  128+S     signal S killed the first rank that failed: 137 SIGKILL, 139 SIGSEGV
  1         the output of the ranks or the record of --report could not be written
  2         the command line, a file or the plan is not valid; nothing was started
  75        preempted, and all ranks saved their state (--preempted-code)
  93        with --checkpoint-signal: no restart, because the job failed in the same way 3 times
  124       --timeout was reached, or --on-hang end stopped a hang
  125       a host could not be reached or was lost
  126, 127  the program cannot be executed, or was not found
  128+S     signal S to dlaunch ended the job: 130 Ctrl-C, 143 SIGTERM
  141       the reader of dlaunch's stdout closed the pipe

The code of a failed rank may also be 2 or 124. The summary on stderr, and "cause" in the record of --report, show
whether the code comes from a rank or from dlaunch. Subcommands list their own codes in their help.
)page",
     .options = ""},
};
// clang-format on

}  // namespace

std::span<const HelpPage> help_pages() { return kPages; }

const HelpPage* find_help_page(std::string_view name) {
  const HelpPage* found = nullptr;
  for (const HelpPage& page : kPages) {
    each_name(page.names, [&](std::string_view known) { found = known == name ? &page : found; });
  }
  return found;
}

}  // namespace dlaunch::cli
