// srun's options in Slurm 22.05 and later, one row each, for --help and for the table in docs/migrate/srun.md.
#include "base/environment.h"
#include "base/text.h"
#include "grammars/srun/srun.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr string_view kChosen = "`--include` with the chosen nodes of the job; with `-r N`, the nodes from node N on";
constexpr string_view kFew =
    "the option applies only to a new allocation; use `-n`, `-N` and `--ntasks-per-node` to place ranks";
constexpr string_view kResources = "ranks share all resources of the job on their node";
constexpr string_view kNodes = "the nodes come from salloc, sbatch or dlaunch's -H";
constexpr string_view kContainer = "use `apptainer exec --bind MOUNTS IMAGE PROGRAM` as the program";
constexpr string_view kScript = "use a wrapper script around the program";
constexpr string_view kNodeDevices =
    "ranks see all devices of the job on their node; 0: no devices (an empty `CUDA_VISIBLE_DEVICES`). A number "
    "below the node's number of devices is refused, except with `-G`";
constexpr string_view kClocks = "dlaunch does not set clocks or accounting limits";
constexpr string_view kPlugin = "the option is for Slurm's network, plugins and daemons";

constexpr LauncherOption of(string_view names, string_view value, string_view help,
                            Support support = Support::translated, string_view variables = {},
                            const char* alone = nullptr, string_view stands_for = {}) {
  return {.row = {.names = names,
                  .takes = value.empty() ? Arity::nothing : Arity::value,
                  .value_name = value,
                  .help = help,
                  .stands_for = stands_for},
          .support = support,
          .variables = variables,
          .alone = alone};
}

// clang-format off
constexpr LauncherOption kSrunOptions[] = {
    of("ntasks n", "N", "`-n N`; default: one rank per node, or the number of "
        "`--ntasks-per-node`", Support::translated, "SLURM_NTASKS SLURM_NPROCS"),
    of("nodes N", "MIN[-MAX]", "`--include` with the first MAX nodes of the job", Support::translated,
        "SLURM_JOB_NUM_NODES SLURM_NNODES"),
    of("ntasks-per-node tasks-per-node", "N", "starts N ranks per node; overridden by `-n`, and by "
        "`SLURM_NTASKS` if `-N` is not on the command line", Support::translated, "SLURM_NTASKS_PER_NODE"),
    of("cpus-per-task c", "N", "`--cores-per-rank N --bind-to hwthread:if-supported` and `-x SLURM_CPUS_PER_TASK=N`; "
        "without `-n`, dlaunch starts as many ranks as the CPUs allow", Support::translated, "SRUN_CPUS_PER_TASK"),
    of("nodelist w", "LIST", kChosen), of("nodefile F", "FILE", kChosen), of("exclude x", "LIST", kChosen),
    of("relative r", "N", kChosen),
    of("distribution m", "HOW", "block is `--map-by block`, cyclic is `--map-by node`, plane=N is `-N N`; pack fills "
        "as few nodes as possible; `--max-slots N,N,...` limits the ranks of each node for pack, and if nodes have "
        "different numbers of CPUs; a second level after ':' changes nothing",
        Support::translated, "SLURM_DISTRIBUTION"),
    of("overcommit O", "", "allows more ranks than CPUs; without this option, dlaunch rejects more ranks than CPUs if "
        "the number of CPUs is known", Support::translated, "SLURM_OVERCOMMIT"),
    of("cpu-bind", "HOW", "none, cores, threads, sockets, ldoms: `--bind-to`; map_cpu, mask_cpu: `--cpu-list p0/p4`; "
        "verbose: `--report-bindings`", Support::translated, "SLURM_CPU_BIND"),
    of("hint", "HOW", "nomultithread: a CPU is a core, not a hardware thread; compute_bound: same as nomultithread, "
        "with `--bind-to core`; multithread: no change; memory_bound is refused", Support::translated, "SLURM_HINT"),
    of("threads-per-core", "N", "1: a CPU is a core, not a hardware thread; other numbers change "
        "nothing", Support::translated, "SLURM_THREADS_PER_CORE"),
    of("gpus-per-task", "[TYPE:]N", "1: `--visible rank`; more than 1: each rank gets the next N devices of its "
        "node; for this, dlaunch starts the program through a shell", Support::translated, "SLURM_GPUS_PER_TASK"),
    of("gpu-bind", "HOW", "none: no change; per_task:1, single:1: `--visible rank`; closest: `--visible rank --bind-to "
        "device`; map_gpu, mask_gpu: `--devices LIST --visible rank`", Support::translated,
        "SLURM_GPU_BIND"),
    of("tres-per-task", "LIST", "cpu=N: `-c N`; gres/gpu=N, gres/gpu:TYPE=N: `--gpus-per-task`; other resources change "
        "nothing", Support::translated, "SLURM_TRES_PER_TASK"),
    of("tres-bind", "HOW", "gres/gpu:HOW: `--gpu-bind HOW`; other resources change "
        "nothing", Support::translated, "SLURM_TRES_BIND"),
    of("ntasks-per-gpu", "N", "1: `--visible rank`; larger numbers are refused", Support::translated,
        "SLURM_NTASKS_PER_GPU"),
    of("gpus G", "[TYPE:]N", kNodeDevices), of("gpus-per-node", "[TYPE:]N", kNodeDevices),
    of("gres", "gpu[:TYPE]:N", kNodeDevices),
    of("output o", "PATTERN", "`--stdout-file`, where %t is {rank} and %N is {host}; without `-e`, the file also "
        "contains stderr; a rank N: `--ranks N`; none: /dev/null; - or all: the console (srun also "
        "prints to the console for longer names that begin with - or all)", Support::translated,
       "SRUN_OUTPUT SLURM_STDOUTMODE"),
    of("error e", "PATTERN", "`--stderr-file`, with the same patterns", Support::translated,
        "SRUN_ERROR SLURM_STDERRMODE"),
    of("input i", "PATTERN", "all, none or a rank: `--stdin`; a file name: each rank opens the "
        "file", Support::translated, "SRUN_INPUT SLURM_STDINMODE"),
    of("open-mode", "MODE", "`append`: dlaunch adds `:append` to the file names; `truncate`: dlaunch "
        "replaces the files", Support::translated, "SLURM_OPEN_MODE"),
    of("label l", "", "`--label='{rank}: '`", Support::translated, "SLURM_LABELIO"),
    of("pty", "[=FD]", "`--pty --ranks 0 --stdin 0`: all ranks have a terminal, but dlaunch prints only the output "
        "of rank 0, and only rank 0 reads stdin", Support::translated, {}, "1"),
    of("chdir D", "DIR", "`--wdir DIR`", Support::translated, "SLURM_WORKING_DIR SLURM_REMOTE_CWD", nullptr, "wdir={}"),
    of("export", "ALL,A=B,...", "ALL (the default): `--env-all`, and `-x A=B` if the environment does not contain A; "
        "without ALL: `--no-env`, and `-x` for each name; NONE: `--no-env`", Support::translated,
        "SRUN_EXPORT_ENV SLURM_EXPORT_ENV"),
    of("job-name J", "NAME", "`-x SLURM_JOB_NAME=NAME`"),
    of("kill-on-bad-exit K", "[=0-1]", "`--on-failure abort`; default: the other ranks "
        "continue", Support::translated, "SLURM_KILL_BAD_EXIT", "1"),
    of("time t", "[D-]H:M:S", "`--timeout SECONDS` for the step", Support::translated, "SLURM_TIMELIMIT"),
    of("mpi", "TYPE", "`--mpi`; TYPE is pmix (also pmix_v3), pmi2 or none", Support::translated, "SLURM_MPI_TYPE"),
    of("multi-prog", "", "the program is a FILE that lists ranks and their programs; a shell starts each rank's "
        "program; without `-n`, the job has all ranks of the file", Support::translated, "SLURM_SRUN_MULTI"),
    of("het-group", "N", "`--include` with the nodes of group N; several groups are refused"),
    of("jobid", "ID", "accepts the ID of the current job; other IDs are refused"),
    of("quiet Q", "", "`--quiet`", Support::translated, {}, nullptr, "quiet=true"),
    of("verbose v", "", "`-v`", Support::translated, {}, nullptr, "verbose=1"),
    of("test-only", "", "`--dry-run`", Support::translated, {}, nullptr, "dry-run=true"),
    of("unbuffered u", "", "without `-l`: `--raw` (lines of different ranks may mix); PYTHONUNBUFFERED is always "
        "set", Support::translated, "SLURM_UNBUFFEREDIO"),
    of("wait W", "SECONDS", "`--wait-after-first SECONDS`; 0 means no limit", Support::translated, "SLURM_WAIT"),
    of("exclusive", "[=WHO]", kResources, Support::ignored, {}, ""), of("exact", "", kResources, Support::ignored),
    of("overlap", "[=job]", kResources, Support::ignored, {}, ""),
    of("oversubscribe s", "", kResources, Support::ignored), of("whole", "", kResources, Support::ignored),
    of("mem", "SIZE", kResources, Support::ignored),
    of("mem-per-cpu", "SIZE", kResources, Support::ignored), of("mem-per-gpu", "SIZE", kResources, Support::ignored),
    of("cpus-per-gpu", "N", kResources, Support::ignored),
    of("mem-bind", "HOW", kResources, Support::ignored),
    of("gres-flags", "HOW", kResources, Support::ignored), of("gpus-per-socket", "N", kResources, Support::ignored),
    of("ntasks-per-core", "N", kFew, Support::ignored), of("ntasks-per-socket", "N", kFew, Support::ignored),
    of("sockets-per-node", "N", kFew, Support::ignored),
    of("cores-per-socket", "N", kFew, Support::ignored), of("extra-node-info B", "S:C:T", kFew, Support::ignored),
    of("mincpus", "N", kFew, Support::ignored),
    of("contiguous", "", kFew, Support::ignored), of("use-min-nodes", "", kFew, Support::ignored),
    of("spread-job", "", kFew, Support::ignored),
    of("cpu-freq", "HOW", kClocks, Support::ignored), of("gpu-freq", "HOW", kClocks, Support::ignored),
    of("acctg-freq", "HOW", kClocks, Support::ignored),
    of("profile", "HOW", kClocks, Support::ignored), of("power", "HOW", kClocks, Support::ignored),
    of("propagate", "[=LIMITS]", kClocks, Support::ignored, {}, ""),
    of("network", "HOW", kPlugin, Support::ignored), of("resv-ports", "[=N]", kPlugin, Support::ignored, {}, ""),
    of("threads T", "N", kPlugin, Support::ignored),
    of("msg-timeout", "S", kPlugin, Support::ignored), of("slurmd-debug", "LEVEL", kPlugin, Support::ignored),
    of("treewidth", "N", kPlugin, Support::ignored),
    of("compress", "[=HOW]", kPlugin, Support::ignored, {}, ""), of("accel-bind", "HOW", kPlugin, Support::ignored),
    of("disable-status X", "", kPlugin, Support::ignored),
    of("quit-on-interrupt", "", kPlugin, Support::ignored), of("debugger-test", "", kPlugin, Support::ignored),
    of("preserve-env E", "", kPlugin, Support::ignored),
    of("no-kill k", "[=off]", kPlugin, Support::ignored, {}, ""),
    of("external-launcher", "", kPlugin, Support::ignored),
    of("stepmgr", "", kPlugin, Support::ignored),
    of("async", "", kPlugin, Support::ignored), of("interactive", "", kPlugin, Support::ignored),
    of("oom-kill-step", "[=0-1]", kPlugin, Support::ignored, {}, ""),
    of("comment", "TEXT", kPlugin, Support::ignored), of("wckey", "KEY", kPlugin, Support::ignored),
    of("account A", "NAME", kNodes, Support::allocation), of("partition p", "NAME", kNodes, Support::allocation),
    of("qos q", "NAME", kNodes, Support::allocation),
    of("begin b", "TIME", kNodes, Support::allocation), of("dependency d", "LIST", kNodes, Support::allocation),
    of("constraint C", "LIST", kNodes, Support::allocation),
    of("cluster-constraint", "LIST", kNodes, Support::allocation),
    of("clusters M", "LIST", kNodes, Support::allocation),
    of("licenses L", "LIST", kNodes, Support::allocation),
    of("reservation", "NAME", kNodes, Support::allocation),
    of("immediate I", "[=S]", kNodes, Support::allocation, {}, ""),
    of("hold H", "", kNodes, Support::allocation),
    of("nice", "[=N]", kNodes, Support::allocation, {}, ""), of("priority", "N", kNodes, Support::allocation),
    of("deadline", "TIME", kNodes, Support::allocation),
    of("delay-boot", "M", kNodes, Support::allocation), of("time-min", "TIME", kNodes, Support::allocation),
    of("switches", "N", kNodes, Support::allocation),
    of("tmp", "SIZE", kNodes, Support::allocation), of("core-spec S", "N", kNodes, Support::allocation),
    of("thread-spec", "N", kNodes, Support::allocation),
    of("mail-type", "TYPE", kNodes, Support::allocation), of("mail-user", "USER", kNodes, Support::allocation),
    of("mcs-label", "LABEL", kNodes, Support::allocation),
    of("prefer", "LIST", kNodes, Support::allocation), of("reboot", "", kNodes, Support::allocation),
    of("signal", "SIG[@S]", kNodes, Support::allocation),
    of("bb", "SPEC", kNodes, Support::allocation), of("bbf", "FILE", kNodes, Support::allocation),
    of("uid", "USER", kNodes, Support::allocation),
    of("gid", "GROUP", kNodes, Support::allocation), of("segment", "N", kNodes, Support::allocation),
    of("consolidate-segments", "", kNodes, Support::allocation),
    of("spread-segments", "", kNodes, Support::allocation),
    of("container", "PATH", kContainer, Support::refused), of("container-id", "ID", kContainer, Support::refused),
    of("container-image", "IMAGE", kContainer, Support::refused),
    of("container-mounts", "LIST", kContainer, Support::refused),
    of("container-name", "NAME", kContainer, Support::refused),
    of("container-workdir", "DIR", kContainer, Support::refused),
    of("container-save", "PATH", kContainer, Support::refused),
    of("container-env", "LIST", kContainer, Support::refused),
    of("container-mount-home", "", kContainer, Support::refused),
    of("no-container-mount-home", "", kContainer, Support::refused),
    of("container-remap-root", "", kContainer, Support::refused),
    of("no-container-remap-root", "", kContainer, Support::refused),
    of("container-entrypoint", "", kContainer, Support::refused),
    of("no-container-entrypoint", "", kContainer, Support::refused),
    of("container-writable", "", kContainer, Support::refused),
    of("container-readonly", "", kContainer, Support::refused),
    of("prolog", "PROGRAM", kScript, Support::refused, "SLURM_PROLOG"),
    of("epilog", "PROGRAM", kScript, Support::refused, "SLURM_EPILOG"),
    of("task-prolog", "PROGRAM", kScript, Support::refused, "SLURM_TASK_PROLOG"),
    of("task-epilog", "PROGRAM", kScript, Support::refused, "SLURM_TASK_EPILOG"),
    of("wait-for-children", "", kScript, Support::refused),
    of("bcast", "[=PATH]", "use dlaunch's `--rank-dir 'DIR{rank}' --stage FILE` to copy "
        "files", Support::refused, "SLURM_BCAST", ""),
    of("bcast-exclude", "LIST", "use dlaunch's `--rank-dir 'DIR{rank}' --stage FILE` to copy "
        "files", Support::refused),
    of("send-libs", "[=BOOL]", "use dlaunch's `--rank-dir 'DIR{rank}' --stage FILE` to copy "
        "files", Support::refused, {}, ""),
    of("no-allocate Z", "", "use `dlaunch -H node1,node2 PROGRAM` to start ranks over "
        "ssh", Support::refused),
    of("x11", "[=WHICH]", "use `dlaunch --exec 'ssh -X {host}'`", Support::refused, {}, ""),
    of("export-file", "FILE", "use dlaunch's `--env-file FILE` before srun's "
        "options", Support::refused),
    {.row = {.names = "help h usage", .takes = Arity::show, .help = "print this help"}},
    {.row = {.names = "version V", .takes = Arity::show, .help = "print dlaunch's version"}},
};
// clang-format on

constexpr OwnDefault kSrunDefaults[] = {
    {"env-for", "slurm"}, {"env-all", "true"}, {"oversubscribe", "true"}, {"stdin", "all"}, {"on-failure", "continue"}};

/// A flag is on if its variable is empty, "yes" or a number other than 0. In a heterogeneous job, the variable of the
/// group overrides the plain one: SLURM_NTASKS_HET_GROUP_1. The number of --het-group becomes a number without zeros in
/// front and without srun's brackets: "[01]" is "1".
std::vector<ParsedOption> srun_variables(std::vector<ParsedOption>& typed,
                                         const std::vector<std::string>& environment) {
  std::string group = "0";
  for (ParsedOption& option : typed) {
    if (option.spec->name() != "het-group") continue;
    std::string_view text = option.value;
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    if (const auto number = parse_int(text, 0, 1'000'000)) option.value = std::to_string(*number);
    group = option.value;
  }
  std::vector<ParsedOption> given;
  for (const LauncherOption& option : kSrunOptions) {
    for (std::string name : split(option.variables, ' ')) {
      if (name.empty()) continue;
      const std::string of_group = name + "_HET_GROUP_" + group;
      if (variable(environment, of_group)) name = of_group;
      const auto text = variable(environment, name);
      if (!text) continue;
      const bool flag = option.row.takes == Arity::nothing;
      const bool on = text->empty() || *text == "yes" || parse_int(*text, 1, 1'000'000);
      std::string value = flag ? (on ? "true" : "false") : std::string(*text);
      if (value.empty() && option.alone) value = option.alone;
      if (value.empty()) continue;
      given.push_back({.spec = &option.row,
                       .value = std::move(value),
                       .spelled = name,
                       .origin = name,
                       .source = Source::command_line});
      break;
    }
  }
  return given;
}

constexpr LauncherSpec kSrun{.name = "srun",
                             .options = kSrunOptions,
                             .getopt = true,
                             .site_variables = srun_variables,
                             .dense_table = true,
                             .defaults = kSrunDefaults,
                             .replace = replace_srun_tres,
                             .make = make_srun_job};

}  // namespace

const LauncherSpec& srun_launcher() { return kSrun; }

}  // namespace dlaunch::cli
