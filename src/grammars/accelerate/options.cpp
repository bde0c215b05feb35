// The options of `accelerate launch`, one row each, with their meaning in dlaunch, for --help and for the table in
// docs/migrate/others.md.
#include "grammars/accelerate/accelerate.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr string_view kDynamo = "sets the variable of the same name: `-x ACCELERATE_DYNAMO_…=`";
constexpr string_view kWithFp8 = "`-x ACCELERATE_FP8_…=`; requires `--mixed_precision fp8`";
constexpr string_view kWithFsdp = "`-x FSDP_…=`; requires `--use_fsdp`";
constexpr string_view kWithMegatron = "`-x MEGATRON_LM_…=`; requires `--use_megatron_lm`";
constexpr string_view kWithDeepspeed = "`-x ACCELERATE_DEEPSPEED_…=`; requires `--use_deepspeed`";
constexpr string_view kWithParallelism = "`-x PARALLELISM_CONFIG_…=`; requires `--use_parallelism_config`";
constexpr string_view kAsTorchrun = "same as the option of torchrun";
constexpr string_view kOfDeepspeed = "same as the option of deepspeed; requires `--use_deepspeed` and several machines";
constexpr string_view kTpu = "run accelerate without dlaunch for TPUs";
constexpr string_view kSageMaker = "run accelerate without dlaunch for SageMaker jobs";
constexpr string_view kMpirun = "use dlaunch --as mpirun --hostfile FILE -n N python3 SCRIPT";

constexpr LauncherOption accelerate_row(string_view names, string_view value, string_view help,
                                        Support support = Support::translated) {
  return {.row = {.names = names,
                  .takes = value.empty() ? Arity::nothing : Arity::value,
                  .value_name = value,
                  .help = help},
          .support = support};
}

constexpr LauncherOption kAccelerateOptions[] = {
    accelerate_row(
        "config-file", "FILE",
        "reads the settings of FILE; options override the file; default: the file of `accelerate config`, if it "
        "exists"),
    accelerate_row("num-processes", "N",
                   "number of ranks on all machines: `-N` with an equal part for each machine; "
                   "default: `-n devices`"),
    accelerate_row("num-machines", "N",
                   "1: only this machine; N: `--same-line --nodes N` (run the command on each machine, with "
                   "`DLAUNCH_KEY`)"),
    accelerate_row("machine-rank", "N",
                   "`--node-rank N` with several machines; default: the number in the "
                   "environment"),
    accelerate_row("main-process-ip", "HOST", "`--rendezvous HOST:PORT` with several machines"),
    accelerate_row("main-process-port", "PORT",
                   "one machine: `-x MASTER_PORT=PORT` (0 or missing: a free port); several machines: the port of "
                   "`--rendezvous` (default: 29500)"),
    accelerate_row("same-network", "", "no effect, because the machines always connect to HOST:PORT of machine 0"),
    accelerate_row("multi-gpu", "", "ranks start as in torchrun; `--num_processes 1` is refused"),
    accelerate_row("cpu", "", "`-n 1` with `-x ACCELERATE_USE_CPU=True`"),
    accelerate_row("gpu-ids", "LIST", "`--devices LIST --visible host`; `all` has no effect"),
    accelerate_row("mixed-precision", "NAME", "`-x ACCELERATE_MIXED_PRECISION=NAME`; valid names: no, fp16, bf16, fp8"),
    accelerate_row("num-cpu-threads-per-process", "N",
                   "`-x OMP_NUM_THREADS=N`; default: 1 if OMP_NUM_THREADS is not set"),
    accelerate_row("enable-cpu-affinity", "", "`-x ACCELERATE_CPU_AFFINITY=1`; the script binds itself to cores"),
    accelerate_row("debug", "", "`-x ACCELERATE_DEBUG_MODE=true`"),
    accelerate_row("module m", "", "`python3 -m MODULE args`"),
    accelerate_row("no-python", "", "starts the program without Python; conflicts with `-m`"),
    accelerate_row("use-deepspeed", "",
                   "`-x ACCELERATE_USE_DEEPSPEED=true`, and the variables `ACCELERATE_DEEPSPEED_…`; ranks start as in "
                   "torchrun"),
    accelerate_row("use-fsdp", "",
                   "`-x ACCELERATE_USE_FSDP=true`, and the variables `FSDP_…`; ranks start as in torchrun"),
    accelerate_row("use-megatron-lm", "",
                   "`-x ACCELERATE_USE_MEGATRON_LM=true`, and the variables `MEGATRON_LM_…`; ranks start as in "
                   "torchrun"),
    accelerate_row("use-parallelism-config", "",
                   "`-x ACCELERATE_USE_PARALLELISM_CONFIG=true`; requires `--use_fsdp --fsdp_version 2`"),
    accelerate_row("tee t", "0-3", kAsTorchrun),
    accelerate_row("log-dir", "DIR", kAsTorchrun),
    accelerate_row("role", "NAME", kAsTorchrun),
    accelerate_row("rdzv-backend", "NAME", kAsTorchrun),
    accelerate_row("rdzv-conf", "KEY=VALUE,...", kAsTorchrun),
    accelerate_row("max-restarts", "N", kAsTorchrun),
    accelerate_row("monitor-interval", "SECONDS", kAsTorchrun),
    accelerate_row("deepspeed-multinode-launcher", "NAME",
                   "with standard, or without a hostfile: run the command on each machine; with other values: dlaunch "
                   "starts the ranks on the hosts of the hostfile, as deepspeed does"),
    accelerate_row("deepspeed-hostfile", "FILE", kOfDeepspeed),
    accelerate_row("deepspeed-exclusion-filter", "HOSTS", kOfDeepspeed),
    accelerate_row("deepspeed-inclusion-filter", "HOSTS", kOfDeepspeed),
    accelerate_row("dynamo-backend", "NAME", kDynamo),
    accelerate_row("dynamo-mode", "NAME", kDynamo),
    accelerate_row("dynamo-use-fullgraph", "", kDynamo),
    accelerate_row("dynamo-use-dynamic", "", kDynamo),
    accelerate_row("dynamo-use-regional-compilation", "", kDynamo),
    accelerate_row("fp8-backend", "VALUE", kWithFp8),
    accelerate_row("fp8-use-autocast-during-eval", "", kWithFp8),
    accelerate_row("fp8-margin", "VALUE", kWithFp8),
    accelerate_row("fp8-interval", "VALUE", kWithFp8),
    accelerate_row("fp8-format", "VALUE", kWithFp8),
    accelerate_row("fp8-amax-history-len", "VALUE", kWithFp8),
    accelerate_row("fp8-amax-compute-algo", "VALUE", kWithFp8),
    accelerate_row("fp8-opt-level", "VALUE", kWithFp8),
    accelerate_row("fp8-enable-fsdp-float8-all-gather", "VALUE", kWithFp8),
    accelerate_row("fp8-pad-inner-dim", "VALUE", kWithFp8),
    accelerate_row("fsdp-version", "N", kWithFsdp),
    accelerate_row("fsdp-sharding-strategy", "NAME", kWithFsdp),
    accelerate_row("fsdp-reshard-after-forward", "BOOL", kWithFsdp),
    accelerate_row("fsdp-offload-params", "BOOL", kWithFsdp),
    accelerate_row("fsdp-min-num-params", "N", kWithFsdp),
    accelerate_row("fsdp-auto-wrap-policy", "NAME", kWithFsdp),
    accelerate_row("fsdp-transformer-layer-cls-to-wrap", "NAMES", kWithFsdp),
    accelerate_row("fsdp-backward-prefetch fsdp-backward-prefetch-policy", "NAME", kWithFsdp),
    accelerate_row("fsdp-state-dict-type", "NAME", kWithFsdp),
    accelerate_row("fsdp-forward-prefetch", "BOOL", kWithFsdp),
    accelerate_row("fsdp-use-orig-params", "BOOL", kWithFsdp),
    accelerate_row("fsdp-cpu-ram-efficient-loading", "BOOL", kWithFsdp),
    accelerate_row("fsdp-sync-module-states", "BOOL", kWithFsdp),
    accelerate_row("fsdp-activation-checkpointing", "BOOL", kWithFsdp),
    accelerate_row("megatron-lm-tp-degree", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-use-custom-fsdp", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-no-load-optim", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-eod-mask-loss", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-no-save-optim", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-optimizer-cpu-offload", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-use-precision-aware-optimizer", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-overlap-cpu-optimizer-d2h-h2d", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-decoder-last-pipeline-num-layers", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-pp-degree", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-gradient-clipping", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-num-micro-batches", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-sequence-parallelism", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-recompute-activations", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-use-distributed-optimizer", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-recompute-granularity", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-recompute-method", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-recompute-num-layers", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-attention-backend", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-expert-model-parallel-size", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-context-parallel-size", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-attention-dropout", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-hidden-dropout", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-attention-softmax-in-fp32", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-expert-tensor-parallel-size", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-calculate-per-token-loss", "VALUE", kWithMegatron),
    accelerate_row("megatron-lm-use-rotary-position-embeddings", "VALUE", kWithMegatron),
    accelerate_row("zero-stage", "N", kWithDeepspeed),
    accelerate_row("gradient-accumulation-steps", "N", kWithDeepspeed),
    accelerate_row("gradient-clipping", "X", kWithDeepspeed),
    accelerate_row("offload-optimizer-device", "NAME", kWithDeepspeed),
    accelerate_row("offload-param-device", "NAME", kWithDeepspeed),
    accelerate_row("offload-optimizer-nvme-path", "DIR", kWithDeepspeed),
    accelerate_row("offload-param-nvme-path", "DIR", kWithDeepspeed),
    accelerate_row("zero3-init-flag", "BOOL", kWithDeepspeed),
    accelerate_row("zero3-save-16bit-model", "BOOL", kWithDeepspeed),
    accelerate_row("deepspeed-config-file", "FILE", kWithDeepspeed),
    accelerate_row("deepspeed-moe-layer-cls-names", "NAMES", kWithDeepspeed),
    accelerate_row("parallelism-config-dp-replicate-size", "VALUE", kWithParallelism),
    accelerate_row("parallelism-config-dp-shard-size", "VALUE", kWithParallelism),
    accelerate_row("parallelism-config-tp-size", "VALUE", kWithParallelism),
    accelerate_row("parallelism-config-cp-size", "VALUE", kWithParallelism),
    accelerate_row("parallelism-config-cp-backend", "VALUE", kWithParallelism),
    accelerate_row("parallelism-config-sp-size", "VALUE", kWithParallelism),
    accelerate_row("parallelism-config-sp-backend", "VALUE", kWithParallelism),
    accelerate_row("parallelism-config-cp-comm-strategy", "VALUE", kWithParallelism),
    accelerate_row("parallelism-config-sp-seq-length", "VALUE", kWithParallelism),
    accelerate_row("parallelism-config-sp-seq-length-is-variable", "VALUE", kWithParallelism),
    accelerate_row("parallelism-config-sp-attn-implementation", "VALUE", kWithParallelism),
    accelerate_row("fp8-override-linear-precision", "BOOL,BOOL,BOOL", kWithFp8),
    accelerate_row("ipex", "", "`-x ACCELERATE_USE_IPEX=true`"),
    accelerate_row("use-xpu", "", "`-x ACCELERATE_USE_XPU=true`"),
    accelerate_row("quiet q", "", "dlaunch does not print a traceback", Support::ignored),
    accelerate_row("main-training-function", "NAME", "the option is for TPUs", Support::ignored),
    accelerate_row("downcast-bf16", "", "the option is for TPUs", Support::ignored),
    accelerate_row("tpu", "", kTpu, Support::refused),
    accelerate_row("tpu-cluster", "", kTpu, Support::refused),
    accelerate_row("no-tpu-cluster", "", kTpu, Support::refused),
    accelerate_row("tpu-use-sudo", "", kTpu, Support::refused),
    accelerate_row("vm", "NAME", kTpu, Support::refused),
    accelerate_row("env", "NAME=VALUE", kTpu, Support::refused),
    accelerate_row("aws-access-key-id", "ID", kSageMaker, Support::refused),
    accelerate_row("aws-secret-access-key", "KEY", kSageMaker, Support::refused),
    accelerate_row("mpirun-hostfile", "FILE", kMpirun, Support::refused),
    accelerate_row("mpirun-ccl", "N", kMpirun, Support::refused),
    {.row = {.names = "help h", .takes = Arity::show, .help = "print this help"}},
};

constexpr OwnDefault kAccelerateDefaults[] = {
    {"env-all", "true"}, {"oversubscribe", "true"}, {"grace", "30"}, {"ignore-resource-manager", "true"}};

constexpr LauncherSpec kAccelerate{.name = "accelerate",
                                   .subcommand = "launch",
                                   .options = kAccelerateOptions,
                                   .underscores = true,
                                   .abbreviates = false,
                                   .dense_table = true,
                                   .defaults = kAccelerateDefaults,
                                   .nodes = {"accelerate", "--machine_rank", "--main_process_ip", "HOST"},
                                   .make = make_accelerate_job};
constexpr LauncherSpec kAccelerateLaunch{.name = "accelerate-launch",
                                         .options = kAccelerateOptions,
                                         .underscores = true,
                                         .abbreviates = false,
                                         .dense_table = true,
                                         .defaults = kAccelerateDefaults,
                                         .nodes = {"accelerate", "--machine_rank", "--main_process_ip", "HOST"},
                                         .make = make_accelerate_job};

}  // namespace

const LauncherSpec& accelerate_launcher() { return kAccelerate; }
const LauncherSpec& accelerate_launch_launcher() { return kAccelerateLaunch; }

}  // namespace dlaunch::cli
