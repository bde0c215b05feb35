// horovodrun's options, one row each, with their meaning in dlaunch, for --help and for the table in
// docs/migrate/others.md.
#include "grammars/horovodrun/horovodrun.h"

namespace dlaunch::cli {
namespace {

constexpr const char* kElastic = "dlaunch does not add or remove hosts during a job";

// clang-format off
constexpr LauncherOption kHorovodrunOptions[] = {
    {{.names = "num-proc -np", .takes = Arity::value, .value_name = "N",
      .help = "`-n N`; without `-H` and `-hostfile`, all ranks run on this machine"}},
    {{.names = "hosts H", .takes = Arity::value, .value_name = "LIST",
      .help = "`-H HOST:SLOTS,...`; each host requires a number of slots"}},
    {{.names = "hostfile -hostfile", .takes = Arity::value, .value_name = "FILE",
      .help = "`-H` with the hosts of FILE; each line of FILE is HOST slots=N"}},
    {{.names = "ssh-port p", .takes = Arity::value, .value_name = "PORT", .help = "`--ssh-port PORT`",
      .stands_for = "ssh-port={}"}},
    {{.names = "ssh-identity-file i", .takes = Arity::value, .value_name = "FILE", .help = "`--ssh-identity FILE`",
      .stands_for = "ssh-identity={}"}},
    {{.names = "network-interfaces network-interface", .takes = Arity::value, .value_name = "NAMES",
      .help = "`-x NCCL_SOCKET_IFNAME=NAMES`, and `-x HOROVOD_GLOO_IFACE=` with the first name"}},
    {{.names = "gloo", .help = "`--env-for horovod`, and dlaunch starts Horovod's rendezvous server; default, unless "
          "an option requests MPI"}},
    {{.names = "mpi", .help = "`--env-for openmpi --tag-output`, and dlaunch serves MPI as for mpirun; default with "
          "`--mpi-args` or `--binding-args`"}},
    {{.names = "jsrun", .help = "remove the option"}, Support::refused},
    {{.names = "mpi-args", .takes = Arity::value, .value_name = "WORDS",
      .help = "adds WORDS as options of mpirun; no effect with `--gloo`"}},
    {{.names = "binding-args", .takes = Arity::value, .value_name = "WORDS",
      .help = "same as `--mpi-args`, for mpirun's binding options"}},
    {{.names = "tcp", .help = "`-x NCCL_IB_DISABLE=1`", .stands_for = "x=NCCL_IB_DISABLE=1"}},
    {{.names = "start-timeout", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`--wait-hosts SECONDS` with `-H` or a hostfile; default: HOROVOD_START_TIMEOUT"}},
    {{.names = "output-filename", .takes = Arity::value, .value_name = "DIR",
      .help = "`--output-filename DIR:nojobid`, which writes DIR/rank.N/stdout and stderr; with MPI, DIR/1/rank.N/… as "
          "in mpirun"}},
    {{.names = "prefix-output-with-timestamp -prefix-timestamp",
      .help = "adds the time to `--label`; with MPI `--timestamp-output`"}},
    {{.names = "verbose", .help = "`-v`", .stands_for = "verbose=1"}},
    {{.names = "disable-cache", .help = "dlaunch does not cache the results of checks"}, Support::ignored},
    {{.names = "check-build -cb", .help = "run horovodrun --check-build without dlaunch"}, Support::refused},
    {{.names = "config-file", .takes = Arity::value, .value_name = "FILE",
      .help = "reads the sections `controller`, `params`, `autotune`, `timeline`, `stall_check`, `library_options` and "
          "`logging` of FILE; options override the file"}},
    {{.names = "fusion-threshold-mb", .takes = Arity::value, .value_name = "MB",
      .help = "`-x HOROVOD_FUSION_THRESHOLD=` with MB converted to bytes"}},
    {{.names = "cycle-time-ms", .takes = Arity::value, .value_name = "MS", .help = "`-x HOROVOD_CYCLE_TIME=MS`"}},
    {{.names = "cache-capacity", .takes = Arity::value, .value_name = "N", .help = "`-x HOROVOD_CACHE_CAPACITY=N`"}},
    {{.names = "hierarchical-allreduce", .help = "`-x HOROVOD_HIERARCHICAL_ALLREDUCE=1`"}},
    {{.names = "no-hierarchical-allreduce", .help = "`-x HOROVOD_HIERARCHICAL_ALLREDUCE=0`"}},
    {{.names = "hierarchical-allgather", .help = "`-x HOROVOD_HIERARCHICAL_ALLGATHER=1`"}},
    {{.names = "no-hierarchical-allgather", .help = "`-x HOROVOD_HIERARCHICAL_ALLGATHER=0`"}},
    {{.names = "torus-allreduce", .help = "`-x HOROVOD_TORUS_ALLREDUCE=1`"}},
    {{.names = "no-torus-allreduce", .help = "`-x HOROVOD_TORUS_ALLREDUCE=0`"}},
    {{.names = "autotune", .help = "`-x HOROVOD_AUTOTUNE=1`"}},
    {{.names = "no-autotune", .help = "turns autotuning off; the other `--autotune-…` options then have no effect"}},
    {{.names = "autotune-log-file", .takes = Arity::value, .value_name = "FILE",
      .help = "`-x HOROVOD_AUTOTUNE_LOG=FILE`; requires `--autotune`"}},
    {{.names = "autotune-warmup-samples", .takes = Arity::value, .value_name = "N",
      .help = "`-x HOROVOD_AUTOTUNE_WARMUP_SAMPLES=N`; requires `--autotune`"}},
    {{.names = "autotune-steps-per-sample", .takes = Arity::value, .value_name = "N",
      .help = "`-x HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE=N`; requires `--autotune`"}},
    {{.names = "autotune-bayes-opt-max-samples", .takes = Arity::value, .value_name = "N",
      .help = "`-x HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES=N`; requires `--autotune`"}},
    {{.names = "autotune-gaussian-process-noise", .takes = Arity::value, .value_name = "X",
      .help = "`-x HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE=X`; requires `--autotune`"}},
    {{.names = "timeline-filename", .takes = Arity::value, .value_name = "FILE", .help = "`-x HOROVOD_TIMELINE=FILE`"}},
    {{.names = "timeline-mark-cycles", .help = "`-x HOROVOD_TIMELINE_MARK_CYCLES=1`; requires `--timeline-filename`"}},
    {{.names = "no-timeline-mark-cycles", .help = "`-x HOROVOD_TIMELINE_MARK_CYCLES=0`; requires "
          "`--timeline-filename`"}},
    {{.names = "no-stall-check", .help = "`-x HOROVOD_STALL_CHECK_DISABLE=1`"}},
    {{.names = "stall-check", .help = "`-x HOROVOD_STALL_CHECK_DISABLE=0`"}},
    {{.names = "stall-check-warning-time-seconds", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`-x HOROVOD_STALL_CHECK_TIME_SECONDS=SECONDS`"}},
    {{.names = "stall-check-shutdown-time-seconds", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`-x HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=SECONDS`"}},
    {{.names = "mpi-threads-disable", .help = "`-x HOROVOD_MPI_THREADS_DISABLE=1`"}},
    {{.names = "no-mpi-threads-disable", .help = "`-x HOROVOD_MPI_THREADS_DISABLE=0`"}},
    {{.names = "num-nccl-streams", .takes = Arity::value, .value_name = "N",
      .help = "`-x HOROVOD_NUM_NCCL_STREAMS=N`"}},
    {{.names = "thread-affinity", .takes = Arity::value, .value_name = "N", .help = "`-x HOROVOD_THREAD_AFFINITY=N`"}},
    {{.names = "gloo-timeout-seconds", .takes = Arity::value, .value_name = "SECONDS",
      .help = "`-x HOROVOD_GLOO_TIMEOUT_SECONDS=SECONDS`"}},
    {{.names = "log-level", .takes = Arity::value, .value_name = "LEVEL", .help = "`-x HOROVOD_LOG_LEVEL=LEVEL`"}},
    {{.names = "log-with-timestamp", .help = "`-x HOROVOD_LOG_HIDE_TIME=0`"}},
    {{.names = "log-without-timestamp", .help = "`-x HOROVOD_LOG_HIDE_TIME=1`"}},
    {{.names = "log-hide-timestamp", .help = "`-x HOROVOD_LOG_HIDE_TIME=1`"}},
    {{.names = "no-log-hide-timestamp", .help = "`-x HOROVOD_LOG_HIDE_TIME=0`"}},
    {{.names = "min-np min-num-proc", .takes = Arity::value, .value_name = "N", .help = kElastic}, Support::refused},
    {{.names = "max-np max-num-proc", .takes = Arity::value, .value_name = "N", .help = kElastic}, Support::refused},
    {{.names = "slots-per-host", .takes = Arity::value, .value_name = "N", .help = kElastic}, Support::refused},
    {{.names = "elastic-timeout", .takes = Arity::value, .value_name = "SECONDS", .help = kElastic}, Support::refused},
    {{.names = "reset-limit", .takes = Arity::value, .value_name = "N", .help = kElastic}, Support::refused},
    {{.names = "blacklist-cooldown-range", .takes = Arity::value, .value_name = "MIN MAX",
      .help = kElastic}, Support::refused},
    {{.names = "host-discovery-script", .takes = Arity::value, .value_name = "FILE",
      .help = kElastic}, Support::refused},
    {{.names = "version v", .takes = Arity::show, .help = "print dlaunch's version"}},
    {{.names = "help h", .takes = Arity::show, .help = "print this help"}},
};
// clang-format on

constexpr OwnDefault kHorovodrunDefaults[] = {{"env-all", "true"}, {"oversubscribe", "true"}};

constexpr LauncherSpec kHorovodrun{.name = "horovodrun",
                                   .options = kHorovodrunOptions,
                                   .joint = Joint::dash,
                                   .defaults = kHorovodrunDefaults,
                                   .make = make_horovodrun_job};

}  // namespace

const LauncherSpec& horovodrun_launcher() { return kHorovodrun; }

}  // namespace dlaunch::cli
