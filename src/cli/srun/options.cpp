// srun's options, a row each, as Slurm 22.05 and later have them. docs/srun.md has the same table, which a test holds.
#include "cli/srun/srun.h"

namespace dlaunch::cli {
namespace {

using IsHere = LauncherOption::Here;
using std::string_view;

constexpr string_view kChosen = "`--include`: which of the job's nodes have ranks; `-r` begins at node N";
constexpr string_view kFew = "limits of an allocation; `-n`, `-N` and `--ntasks-per-node` say where ranks go";
constexpr string_view kResources = "ranks share what the job has on their nodes";
constexpr string_view kNodes = "the nodes are those of salloc or sbatch, or named by dlaunch's own -H";
constexpr string_view kContainer =
    "it runs a plugin of Slurm's; start the container in the program: apptainer exec --bind MOUNTS IMAGE PROGRAM";
constexpr string_view kScript = "start a program that does it before and after its work";
constexpr string_view kNodeDevices = "ranks see the devices that the job has on their node; fewer of them are refused";
constexpr string_view kClocks = "dlaunch sets no clocks and no limits of accounting";
constexpr string_view kPlugin = "it is about Slurm's own network, plugins and daemons";

constexpr LauncherOption of(string_view names, string_view value, string_view help, IsHere here = IsHere::meant,
                            string_view variables = {}, const char* alone = nullptr, string_view stands_for = {}) {
  return {.row = {.names = names,
                  .takes = value.empty() ? Arity::nothing : Arity::value,
                  .value_name = value,
                  .help = help,
                  .stands_for = stands_for},
          .here = here,
          .variables = variables,
          .alone = alone};
}

// clang-format off
constexpr LauncherOption kSrunOptions[] = {
    of("ntasks n", "N", "`-n N`; without it one rank for each node, or `--ntasks-per-node` on "
        "each", IsHere::meant, "SLURM_NTASKS SLURM_NPROCS"),
    of("nodes N", "MIN[-MAX]", "the first MAX nodes of the job: `--include`", IsHere::meant, "SLURM_JOB_NUM_NODES "
        "SLURM_NNODES"),
    of("ntasks-per-node tasks-per-node", "N", "`-N N`, where `-n` does not say "
        "otherwise", IsHere::meant, "SLURM_NTASKS_PER_NODE"),
    of("cpus-per-task c", "N", "`--cores-per-rank N --bind-to hwthread:if-supported` and `-x SLURM_CPUS_PER_TASK=N`; "
        "without `-n` as many ranks as CPUs allow", IsHere::meant, "SRUN_CPUS_PER_TASK"),
    of("nodelist w", "LIST", kChosen), of("nodefile F", "FILE", kChosen), of("exclude x", "LIST", kChosen),
    of("relative r", "N", kChosen),
    of("distribution m", "HOW", "block: `--map-by block`; cyclic: `--map-by node`; pack: `--map-by slot`; plane=N "
        "where it is one of them; behind a ':' block, or cyclic: `--map-by "
        "socket`", IsHere::meant, "SLURM_DISTRIBUTION"),
    of("overcommit O", "", "more ranks than CPUs; without it they are refused where the job's CPUs are "
        "known", IsHere::meant, "SLURM_OVERCOMMIT"),
    of("cpu-bind", "HOW", "`--bind-to none`, core, hwthread, socket, numa; map_cpu and mask_cpu: `--cpu-list p0/p4`; "
        "verbose: `--report-bindings`", IsHere::meant, "SLURM_CPU_BIND"),
    of("hint", "HOW", "nomultithread: a CPU is a core; compute_bound: `--bind-to core`; memory_bound: one rank's core "
        "a socket is refused", IsHere::meant, "SLURM_HINT"),
    of("threads-per-core", "N", "1: a CPU is a core", IsHere::meant, "SLURM_THREADS_PER_CORE"),
    of("gpus-per-task", "[TYPE:]N", "1: `--visible rank`; more: by a shell, the devices of the node in "
        "turn", IsHere::meant, "SLURM_GPUS_PER_TASK"),
    of("gpu-bind", "HOW", "per_task:1, single:1: `--visible rank`; closest: the same with `--bind-to device`; "
        "map_gpu:LIST, mask_gpu:LIST of one device each: `--devices LIST --visible rank`; none", IsHere::meant, "SLURM_GPU_BIND"),
    of("ntasks-per-gpu", "N", "1: `--visible rank`, and without `-n` a rank for each device"),
    of("gpus G", "[TYPE:]N", kNodeDevices), of("gpus-per-node", "[TYPE:]N", kNodeDevices),
    of("gres", "gpu[:TYPE]:N", kNodeDevices),
    of("output o", "PATTERN", "`--stdout-file`, and of stderr too without `-e`: %t is {rank}, %N {host}; a number: "
        "`--ranks N`; none: /dev/null", IsHere::meant, "SLURM_STDOUTMODE"),
    of("error e", "PATTERN", "`--stderr-file` in the same way", IsHere::meant, "SLURM_STDERRMODE"),
    of("input i", "PATTERN", "all, none, a number: `--stdin`; a file is opened by each "
        "rank", IsHere::meant, "SLURM_STDINMODE"),
    of("open-mode", "truncate|append", "append: `:append` behind the files' names; truncate: they are written "
        "anew", IsHere::meant, "SLURM_OPEN_MODE"),
    of("label l", "", "`--label='{rank}: '`", IsHere::meant, "SLURM_LABELIO"),
    of("pty", "[=FD]", "`--pty --ranks 0 --stdin 0`: the terminal is rank 0's", IsHere::meant, {}, "1"),
    of("chdir D", "DIR", "`--wdir DIR`", IsHere::meant, "SLURM_REMOTE_CWD SLURM_WORKING_DIR", nullptr, "wdir={}"),
    of("export", "ALL,A=B|NONE", "`-x A=B` for what is not set; without ALL: `--no-env` and `-x` for what is "
        "named", IsHere::meant, "SRUN_EXPORT_ENV SLURM_EXPORT_ENV"),
    of("job-name J", "NAME", "`-x SLURM_JOB_NAME=NAME`"),
    of("kill-on-bad-exit K", "[=0|1]", "`--on-failure abort`; without it the others go "
        "on", IsHere::meant, "SLURM_KILL_BAD_EXIT", "1"),
    of("time t", "[D-]H:M:S", "`--timeout SECONDS`: of the step", IsHere::meant, "SLURM_TIMELIMIT"),
    of("mpi", "TYPE", "pmix (also pmix_v3), pmi2, none: `--mpi`", IsHere::meant, "SLURM_MPI_TYPE"),
    of("multi-prog", "", "a shell takes each rank's program from the FILE that stands in the program's place"),
    of("het-group", "N", "the nodes of that group: `--include`; several are refused"),
    of("jobid", "ID", "the job that this is; another is refused"),
    of("quiet Q", "", "`--quiet`", IsHere::meant, {}, nullptr, "quiet=true"),
    of("verbose v", "", "`-v`", IsHere::meant, {}, nullptr, "verbose=1"),
    of("test-only", "", "`--dry-run`", IsHere::meant, {}, nullptr, "dry-run=true"),
    of("unbuffered u", "", "lines come as ranks write them, and Python's are not held "
        "back", IsHere::noted, "SLURM_UNBUFFEREDIO"),
    of("wait W", "SECONDS", "`--wait-after-first SECONDS`; 0: never", IsHere::meant, "SLURM_WAIT"),
    of("exclusive", "[=user|mcs]", kResources, IsHere::noted, {}, ""), of("exact", "", kResources, IsHere::noted),
    of("overlap", "[=job]", kResources, IsHere::noted, {}, ""),
    of("oversubscribe s", "", kResources, IsHere::noted), of("whole", "", kResources, IsHere::noted),
    of("mem", "SIZE", kResources, IsHere::noted),
    of("mem-per-cpu", "SIZE", kResources, IsHere::noted), of("mem-per-gpu", "SIZE", kResources, IsHere::noted),
    of("cpus-per-gpu", "N", kResources, IsHere::noted),
    of("mem-bind", "HOW", kResources, IsHere::noted),
    of("tres-bind", "HOW", kResources, IsHere::noted),
    of("gres-flags", "HOW", kResources, IsHere::noted), of("gpus-per-socket", "N", kResources, IsHere::noted),
    of("ntasks-per-core", "N", kFew, IsHere::noted), of("ntasks-per-socket", "N", kFew, IsHere::noted),
    of("sockets-per-node", "N", kFew, IsHere::noted),
    of("cores-per-socket", "N", kFew, IsHere::noted), of("extra-node-info B", "S:C:T", kFew, IsHere::noted),
    of("mincpus", "N", kFew, IsHere::noted),
    of("contiguous", "", kFew, IsHere::noted), of("use-min-nodes", "", kFew, IsHere::noted),
    of("spread-job", "", kFew, IsHere::noted),
    of("cpu-freq", "HOW", kClocks, IsHere::noted), of("gpu-freq", "HOW", kClocks, IsHere::noted),
    of("acctg-freq", "HOW", kClocks, IsHere::noted),
    of("profile", "HOW", kClocks, IsHere::noted), of("power", "HOW", kClocks, IsHere::noted),
    of("propagate", "[=LIMITS]", kClocks, IsHere::noted, {}, ""),
    of("network", "HOW", kPlugin, IsHere::noted), of("resv-ports", "[=N]", kPlugin, IsHere::noted, {}, ""),
    of("threads T", "N", kPlugin, IsHere::noted),
    of("msg-timeout", "S", kPlugin, IsHere::noted), of("slurmd-debug", "LEVEL", kPlugin, IsHere::noted),
    of("treewidth", "N", kPlugin, IsHere::noted),
    of("compress", "[=HOW]", kPlugin, IsHere::noted, {}, ""), of("accel-bind", "HOW", kPlugin, IsHere::noted),
    of("disable-status X", "", kPlugin, IsHere::noted),
    of("quit-on-interrupt", "", kPlugin, IsHere::noted), of("debugger-test", "", kPlugin, IsHere::noted),
    of("preserve-env E", "", kPlugin, IsHere::noted),
    of("no-kill k", "[=off]", kPlugin, IsHere::noted, {}, ""), of("external-launcher", "", kPlugin, IsHere::noted),
    of("stepmgr", "", kPlugin, IsHere::noted),
    of("async", "", kPlugin, IsHere::noted), of("interactive", "", kPlugin, IsHere::noted),
    of("oom-kill-step", "[=0|1]", kPlugin, IsHere::noted, {}, ""),
    of("comment", "TEXT", kPlugin, IsHere::noted), of("wckey", "KEY", kPlugin, IsHere::noted),
    of("account A", "NAME", kNodes, IsHere::of_queue), of("partition p", "NAME", kNodes, IsHere::of_queue),
    of("qos q", "NAME", kNodes, IsHere::of_queue),
    of("begin b", "TIME", kNodes, IsHere::of_queue), of("dependency d", "LIST", kNodes, IsHere::of_queue),
    of("constraint C", "LIST", kNodes, IsHere::of_queue),
    of("cluster-constraint", "LIST", kNodes, IsHere::of_queue), of("clusters M", "LIST", kNodes, IsHere::of_queue),
    of("licenses L", "LIST", kNodes, IsHere::of_queue),
    of("reservation", "NAME", kNodes, IsHere::of_queue), of("immediate I", "[=S]", kNodes, IsHere::of_queue, {}, ""),
    of("hold H", "", kNodes, IsHere::of_queue),
    of("nice", "[=N]", kNodes, IsHere::of_queue, {}, ""), of("priority", "N", kNodes, IsHere::of_queue),
    of("deadline", "TIME", kNodes, IsHere::of_queue),
    of("delay-boot", "M", kNodes, IsHere::of_queue), of("time-min", "TIME", kNodes, IsHere::of_queue),
    of("switches", "N", kNodes, IsHere::of_queue),
    of("tmp", "SIZE", kNodes, IsHere::of_queue), of("core-spec S", "N", kNodes, IsHere::of_queue),
    of("thread-spec", "N", kNodes, IsHere::of_queue),
    of("mail-type", "TYPE", kNodes, IsHere::of_queue), of("mail-user", "USER", kNodes, IsHere::of_queue),
    of("mcs-label", "LABEL", kNodes, IsHere::of_queue),
    of("prefer", "LIST", kNodes, IsHere::of_queue), of("reboot", "", kNodes, IsHere::of_queue),
    of("signal", "SIG[@S]", kNodes, IsHere::of_queue),
    of("bb", "SPEC", kNodes, IsHere::of_queue), of("bbf", "FILE", kNodes, IsHere::of_queue),
    of("uid", "USER", kNodes, IsHere::of_queue),
    of("gid", "GROUP", kNodes, IsHere::of_queue), of("segment", "N", kNodes, IsHere::of_queue),
    of("consolidate-segments", "", kNodes, IsHere::of_queue),
    of("spread-segments", "", kNodes, IsHere::of_queue),
    of("container", "PATH", kContainer, IsHere::refused), of("container-id", "ID", kContainer, IsHere::refused),
    of("container-image", "IMAGE", kContainer, IsHere::refused),
    of("container-mounts", "LIST", kContainer, IsHere::refused),
    of("container-name", "NAME", kContainer, IsHere::refused),
    of("container-workdir", "DIR", kContainer, IsHere::refused),
    of("container-save", "PATH", kContainer, IsHere::refused),
    of("container-env", "LIST", kContainer, IsHere::refused),
    of("container-mount-home", "", kContainer, IsHere::refused),
    of("no-container-mount-home", "", kContainer, IsHere::refused),
    of("container-remap-root", "", kContainer, IsHere::refused),
    of("no-container-remap-root", "", kContainer, IsHere::refused),
    of("container-entrypoint", "", kContainer, IsHere::refused),
    of("no-container-entrypoint", "", kContainer, IsHere::refused),
    of("container-writable", "", kContainer, IsHere::refused),
    of("container-readonly", "", kContainer, IsHere::refused),
    of("prolog", "PROGRAM", kScript, IsHere::refused), of("epilog", "PROGRAM", kScript, IsHere::refused),
    of("task-prolog", "PROGRAM", kScript, IsHere::refused),
    of("task-epilog", "PROGRAM", kScript, IsHere::refused), of("wait-for-children", "", kScript, IsHere::refused),
    of("tres-per-task", "LIST", "write `--cpus-per-task` and `--gpus-per-task`", IsHere::refused),
    of("bcast", "[=PATH]", "`--rank-dir 'DIR{rank}' --stage FILE` of dlaunch's own brings files to "
        "nodes", IsHere::refused, {}, ""),
    of("bcast-exclude", "LIST", "`--rank-dir 'DIR{rank}' --stage FILE` of dlaunch's own brings files to "
        "nodes", IsHere::refused),
    of("send-libs", "[=yes|no]", "`--rank-dir 'DIR{rank}' --stage FILE` of dlaunch's own brings files to "
        "nodes", IsHere::refused, {}, ""),
    of("no-allocate Z", "", "it starts ranks past Slurm; `dlaunch -H node1,node2 PROGRAM` does so over "
        "ssh", IsHere::refused),
    of("x11", "[=WHICH]", "`dlaunch --exec 'ssh -X {host}'` carries windows", IsHere::refused, {}, ""),
    of("export-file", "FILE", "it is sbatch's; write dlaunch's own `--env-file FILE` before srun's "
        "options", IsHere::refused),
    {.row = {.names = "help h usage", .takes = Arity::show, .help = "print this"}},
    {.row = {.names = "version V", .takes = Arity::show, .help = "print dlaunch's version"}},
};
// clang-format on

constexpr OwnDefault kSrunDefaults[] = {
    {"env-for", "slurm"}, {"oversubscribe", "true"}, {"stdin", "all"}, {"on-failure", "continue"}};

constexpr LauncherSpec kSrun{.name = "srun",
                             .options = kSrunOptions,
                             .getopt = true,
                             .dense_table = true,
                             .defaults = kSrunDefaults,
                             .make = make_srun_job};

}  // namespace

const LauncherSpec& srun_launcher() { return kSrun; }

}  // namespace dlaunch::cli
