// Options of similar launchers that mean nothing here or do not exist yet, with the reason and what to use instead.
#include "cli/option_spec.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr string_view kNoNetwork =
    "dlaunch has no daemons that stay and no network of theirs; each job reaches its hosts by ssh";
constexpr string_view kNoDebugger =
    "dlaunch starts no debugger; -v and -vv tell what it does, --report FILE has the pid of each rank";
constexpr string_view kJson = "use --format jsonl, which is one JSON object a line";
constexpr string_view kPlan = "--dry-run prints the plan, with --format json all of it";

constexpr RefusedOption kRefused[] = {
    // mpirun
    {"npersocket",
     "how many sockets a host has is not known to the plan; -N with --map-by socket --bind-to socket deals "
     "a host's ranks to its sockets"},
    {"enable-recovery continuous max-restarts", "ranks are not restarted; --on-failure continue lets the others go on"},
    {"path", "programs are looked for in the ranks' PATH: -x PATH=DIR:$PATH"},
    {"s preload-binary",
     "--rank-dir 'DIR{rank}' --stage PROG ./PROG copies it into a directory of each rank, on its host; Hydra's -s all "
     "is --stdin all"},
    {"preload-files",
     "--rank-dir 'DIR{rank}' --stage FILE,... copies files into a directory of each rank, on its host, and runs it "
     "there"},
    {"set-cwd-to-session-dir", "dlaunch makes no session directories; --rank-dir 'DIR{rank}' makes one for each rank"},
    {"launch-agent",
     "the agent is dlaunch's own and travels with it; --agent-path FILE names one that is installed there"},
    {"xterm", "dlaunch opens no windows; --ranks 0,3 shows only these, and for one: -n 3 PROG : -n 1 xterm -e PROG"},
    {"xml xml-file", kJson},
    {"report-uri report-events ompi-server hnp dvm dvm-uri max-vm-size fwd-mpirun-port enable-instant-on-support "
     "use-regexp "
     "use-regex do-not-resolve report-child-jobs-separately",
     kNoNetwork},
    {"output-proctable", "use --report FILE, which has host and pid of each rank"},
    {"index-argv-by-rank", "argv is the same for all ranks; each knows itself by RANK_ID"},
    {"cf cartofile", "hardware is read on each host; --map-by and --bind-to say how it is used"},
    {"display-devel-map display-devel-allocation display-diffable-map display-topo", kPlan},
    {"debug-devel debug debugger tv debug-daemons debug-daemons-file", kNoDebugger},
    {"forward-signals", "USR1, USR2, TSTP and CONT always reach the ranks; INT, TERM, HUP and QUIT end the job"},
    {"unset-env", "a variable is removed in front: env -u NAME dlaunch …"},
    {"pset", "dlaunch names no sets of ranks"},
    {"with-ft", "ranks are not restarted; --on-failure continue lets the others go on"},
    {"stop-on-exec stop-in-init stop-in-app", kNoDebugger},
    // Hydra
    {"trace t check_mpi mps",
     "Intel's collector is a library: -x LD_PRELOAD=libVT.so for -trace, libVTmc.so for -check_mpi"},
    {"aps", "start the tool as the program: -n 4 aps PROGRAM"},
    {"ilp64", "it is a library: -x LD_PRELOAD=libmpi_ilp64.so"},
    {"umask", "ranks have the umask of the shell: write umask 022 in front"},
    {"membind", "memory follows where ranks are bound: --bind-to numa"},
    {"usize", "MPI_UNIVERSE_SIZE is the number of slots"},
    {"pmi-port nameserver", "dlaunch opens no port"},
    {"order-nodes", "ranks go to hosts in your order"},
    {"gpus-per-proc g", "a rank gets one device; --devices names those in use, --visible rank hides the others"},
    {"enable-x disable-x", "write ForwardX11 into ~/.ssh/config, or --exec 'ssh -X {host}'"},
    {"localhost disable-hostname-propagation", "a host's name is the one that you give it in -H or the hostfile"},
    {"ckpointlib ckpoint-prefix ckpoint-interval ckpoint-num",
     "MPICH has no checkpoints any more, and dlaunch has none"},
    {"rankmap", "--rankfile FILE places each rank"},
    {"gtool gtoolfile", "start the tool as the program: -n 1 TOOL PROGRAM : -n 7 PROGRAM"},
    {"gpu-subdevs-per-proc gpu-bind",
     "a rank gets one device; --devices names those in use, --visible rank hides the others"},
    {"stdout-proc stderr-proc", "use --stdout-file 'NAME.{rank}' and --stderr-file"},
    {"demux profile info", "it is about Hydra's own insides"},
};

}  // namespace

std::span<const RefusedOption> refused_table() { return kRefused; }

}  // namespace dlaunch::cli
