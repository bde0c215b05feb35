// Options of other launchers that dlaunch does not support: the reason, and the option to use instead.
#include "cli/option_spec.h"

namespace dlaunch::cli {

// Options of torchrun, srun, deepspeed, accelerate, horovodrun and msrun with exactly one meaning in dlaunch's own
// grammar. Their names have '-' between words; the parser accepts '_' too. mpirun's options have another table
// (mpirun/foreign_options.cpp).

namespace {

// clang-format off
constexpr OptionSpec kFamiliar[] = {
    {.names = "ntasks num-processes num-proc worker-num", .takes = Arity::value, .value_name = "N",
     .stands_for = "n={}"},
    {.names = "nproc-per-node ntasks-per-node tasks-per-node local-worker-num", .takes = Arity::value,
     .value_name = "N", .stands_for = "N={}"},
    {.names = "cpus-per-task", .takes = Arity::value, .value_name = "N", .stands_for = "cores-per-rank={}"},
    {.names = "nodelist", .takes = Arity::value, .value_name = "LIST", .stands_for = "host={}"},
    {.names = "machine-rank", .takes = Arity::value, .value_name = "I", .stands_for = "node-rank={}"},
    {.names = "log-dir", .takes = Arity::value, .value_name = "DIR", .stands_for = "output-filename={}"},
};
// clang-format on

constexpr auto kFamiliarNames = sorted_names<kFamiliar>();

}  // namespace

std::span<const OptionSpec> familiar_table() { return kFamiliar; }
std::span<const FoundOption> familiar_names() { return kFamiliarNames; }

namespace {

using std::string_view;

constexpr string_view kNoNetwork = "dlaunch has no permanent daemons";
constexpr string_view kNoDebugger = "dlaunch does not start a debugger";
constexpr string_view kUseVerbose = "use -vv for dlaunch's steps, --report FILE for the pid of each rank";
constexpr string_view kNoRestart = "dlaunch restarts all ranks together";
constexpr string_view kUseRestarts = "use --restarts N, or --on-failure continue";
constexpr string_view kUseRankDir =
    "use --rank-dir 'DIR{rank}' --stage FILE,... to copy files to each rank's directory";
constexpr string_view kOneDevice = "each rank gets one device";
constexpr string_view kUseDevices = "use --devices LIST, and --visible rank to hide the other devices";
constexpr string_view kUseSameLine = "use --same-line --nodes N, or -H for the hosts";
constexpr string_view kUseRendezvous =
    "use --same-line --rendezvous HOST:PORT, or -x MASTER_ADDR=HOST -x MASTER_PORT=PORT";

constexpr RefusedOption kRefused[] = {
    // mpirun
    {"npersocket", "dlaunch does not know the sockets of other hosts", "use -N with --map-by socket --bind-to socket"},
    {"enable-recovery continuous max-restarts with-ft", kNoRestart, kUseRestarts},
    {"path", "ranks search their own PATH", "use -x PATH=DIR:$PATH"},
    {"s preload-binary", "", "use --rank-dir 'DIR{rank}' --stage PROG ./PROG; for Hydra's -s all, use --stdin all"},
    {"preload-files", "", kUseRankDir},
    {"set-cwd-to-session-dir", "dlaunch has no session directories", "use --rank-dir 'DIR{rank}'"},
    {"launch-agent", "dlaunch sends its own agent", "use --agent-path FILE for an installed agent"},
    {"xterm", "dlaunch does not open windows", "use --ranks 0,3, or -n 3 PROG : -n 1 xterm -e PROG"},
    {"xml xml-file", "", "use --format jsonl"},
    {"report-uri report-events ompi-server hnp dvm dvm-uri max-vm-size fwd-mpirun-port enable-instant-on-support "
     "use-regexp "
     "use-regex do-not-resolve report-child-jobs-separately",
     kNoNetwork, "remove the option"},
    {"output-proctable", "", "use --report FILE"},
    {"index-argv-by-rank", "all ranks have the same arguments", "use RANK_ID in the program"},
    {"cf cartofile", "each host reads its own hardware", "use --map-by and --bind-to"},
    {"display-devel-map display-devel-allocation display-diffable-map display-topo", "",
     "use --dry-run, or --dry-run --format json"},
    {"debug-devel debug debugger tv debug-daemons debug-daemons-file", kNoDebugger, kUseVerbose},
    {"forward-signals", "dlaunch always forwards USR1, USR2, TSTP and CONT; INT, TERM, HUP and QUIT end the job",
     "remove the option"},
    {"unset-env", "", "run env -u NAME dlaunch …"},
    {"pset", "dlaunch has no process sets", "remove the option"},
    {"stop-on-exec stop-in-init stop-in-app", kNoDebugger, kUseVerbose},
    // Hydra
    {"trace check_mpi mps", "Intel's trace collector is a library",
     "use -x LD_PRELOAD=libVT.so for -trace, libVTmc.so for -check_mpi"},
    {"aps", "", "use the tool as the program: -n 4 aps PROGRAM"},
    {"ilp64", "", "use -x LD_PRELOAD=libmpi_ilp64.so"},
    {"umask", "ranks have the umask of the shell", "run umask 022 before dlaunch"},
    {"membind", "Linux allocates the memory of a rank near the CPUs of the rank", "use --bind-to numa"},
    {"usize", "MPI_UNIVERSE_SIZE is the number of slots", "set slots= in the hostfile"},
    {"pmi-port nameserver", "dlaunch does not open a port", "remove the option"},
    {"order-nodes", "ranks use the order of the host list", "use -H in the order of your choice"},
    {"gpus-per-proc g gpu-subdevs-per-proc gpu-bind", kOneDevice, kUseDevices},
    {"enable-x disable-x", "", "set ForwardX11 in ~/.ssh/config, or use --exec 'ssh -X {host}'"},
    {"localhost disable-hostname-propagation", "host names come from -H or the hostfile", "use -H"},
    {"ckpointlib ckpoint-prefix ckpoint-interval ckpoint-num", "neither MPICH nor dlaunch writes checkpoints",
     "use --checkpoint-signal for programs that save their state"},
    {"rankmap", "", "use --rankfile FILE"},
    {"gtool gtoolfile", "", "use the tool as the program: -n 1 TOOL PROGRAM : -n 7 PROGRAM"},
    {"stdout-proc stderr-proc", "", "use --stdout-file 'NAME.{rank}' and --stderr-file"},
    {"demux profile info", "the option is for the internals of Hydra", "remove the option"},
    // torchrun, srun, deepspeed, accelerate and msrun, in dlaunch's own grammar
    {"nnodes num-nodes num-machines no-ssh", "", kUseSameLine},
    {"master-addr master-port main-process-ip main-process-port", "", kUseRendezvous},
    {"rdzv-endpoint rdzv-backend rdzv-id rdzv-conf standalone", "dlaunch has no rendezvous service",
     "use --same-line --rendezvous HOST:PORT, or run dlaunch --as torchrun …"},
    {"gpus num-gpus num-accelerators gpus-per-node gpus-per-task gres", kOneDevice,
     "use -n N for N ranks, -N N for N ranks per host, --devices LIST to choose devices"},
    {"time", "a number means minutes in Slurm, but seconds in dlaunch",
     "use --timeout with seconds, 5m, 1h30m or 00:05:00"},
    {"t", "",
     "use --timeout for -t of srun, --output-filename for -t of torchrun, -x LD_PRELOAD=libVT.so for -t of Hydra"},
    {"m module", "", "use python3 -m MODULE as the program; for srun's -m, use --map-by"},
    {"no-python", "dlaunch starts the program without Python", "remove the option"},
    {"run-path", "", "use python3 SCRIPT as the program"},
    {"tee", "", "use --output-filename DIR, which writes the output to files and prints it"},
    {"redirects", "", "use --stdout-file FILE for 1, --stderr-file FILE for 2, both for 3"},
    {"logs-specs duplicate-stdout-filters duplicate-stderr-filters", "", "use grep on the files of --output-filename"},
    {"local-ranks-filter", "", "use --local-ranks LIST"},
    {"log-line-prefix-template", "", "use --label TEMPLATE with {rank}, {local_rank} and {host}"},
    {"virtual-local-rank", "", "use --visible rank"},
    {"shutdown-timeout", "", "use --grace TIME"},
    {"chdir D", "", "use --wdir DIR"},
    {"w", "", "use -H LIST"},
    {"o", "", "use --stdout-file FILE, with {rank} in FILE for a file per rank"},
    {"error", "", "use --stderr-file FILE, with {rank} in FILE for a file per rank"},
    {"open-mode", "", "use --stdout-file FILE:append"},
    {"distribution", "", "use --map-by block for block, --map-by node for cyclic"},
    {"overcommit O", "", "use --oversubscribe"},
    {"export", "ranks get the environment of dlaunch", "use -x NAME=VALUE for a variable, --no-env for NONE"},
    {"export-file", "", "use --env-file FILE"},
    {"kill-on-bad-exit K", "a failed rank ends the job", "remove the option; use --on-failure continue for -K0"},
    {"wait W", "", "use --wait-after-first TIME"},
    {"unbuffered u", "", "use --raw"},
    {"multi-prog", "", "use --app FILE; each line of FILE has the form: -n N PROGRAM"},
    {"job-name J", "jobs of dlaunch do not have names", "remove the option, or use -x SLURM_JOB_NAME=NAME"},
    {"test-only", "", "use --dry-run"},
    {"ntasks-per-gpu", "", "use -n devices for one rank per device"},
    {"min-elastic-nodes max-elastic-nodes elastic-training min-np min-num-proc max-np max-num-proc slots-per-host "
     "elastic-timeout reset-limit blacklist-cooldown-range host-discovery-script",
     "dlaunch does not add hosts during a job", "use --restarts N with --spares K or --shrink"},
    {"save-pid", "", "use --report-pid FILE"},
    {"enable-each-rank-log", "", "use --output-filename DIR:nocopy"},
    {"bind-cores-to-rank", "", "use --cores-per-rank share"},
    {"gpu-ids", "", "use --devices LIST"},
    {"num-cpu-threads-per-process", "", "use -x OMP_NUM_THREADS=N"},
    {"mpirun-hostfile", "", "use --hostfile FILE"},
    {"start-timeout", "", "use --wait-hosts TIME"},
    {"ssh-identity-file", "", "use --ssh-identity FILE"},
    {"prefix-output-with-timestamp", "", "use --timestamp-output"},
    {"network-interfaces network-interface", "", "use -x NCCL_SOCKET_IFNAME=NAMES"},
    {"gloo", "", "use --env-for horovod"},
    {"rank-table-file", "", "use --rank-table FILE"},
    {"bind-core", "", "use --bind-to device"},
    {"tail-worker-log", "", "use --ranks LIST"},
};

}  // namespace

std::span<const RefusedOption> refused_table() { return kRefused; }

}  // namespace dlaunch::cli
