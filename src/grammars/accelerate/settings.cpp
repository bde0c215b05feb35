// accelerate's settings: options on the command line, variables for the script.
#include <algorithm>
#include <cctype>

#include "base/environment.h"
#include "base/text.h"
#include "grammars/accelerate/accelerate.h"
#include "grammars/launcher_job.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

enum class Plugin { dynamo, fp8, fsdp, megatron, deepspeed, parallelism };

struct ScriptSetting {
  Plugin plugin;
  string_view option;
  string_view variable;
  string_view standard = {};  ///< the value without the option; empty: the variable is not set
  bool lower = false;         ///< converts the value to lower case
};

constexpr ScriptSetting kScriptSettings[] = {
    {Plugin::dynamo, "dynamo-mode", "ACCELERATE_DYNAMO_MODE", "default"},
    {Plugin::dynamo, "dynamo-use-fullgraph", "ACCELERATE_DYNAMO_USE_FULLGRAPH", "False"},
    {Plugin::dynamo, "dynamo-use-dynamic", "ACCELERATE_DYNAMO_USE_DYNAMIC", "False"},
    {Plugin::dynamo, "dynamo-use-regional-compilation", "ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION", "False"},
    {Plugin::fp8, "fp8-backend", "ACCELERATE_FP8_BACKEND"},
    {Plugin::fp8, "fp8-use-autocast-during-eval", "ACCELERATE_FP8_USE_AUTOCAST_DURING_EVAL", "False"},
    {Plugin::fp8, "fp8-margin", "ACCELERATE_FP8_MARGIN", "0"},
    {Plugin::fp8, "fp8-interval", "ACCELERATE_FP8_INTERVAL", "1"},
    {Plugin::fp8, "fp8-format", "ACCELERATE_FP8_FORMAT", "HYBRID"},
    {Plugin::fp8, "fp8-amax-history-len", "ACCELERATE_FP8_AMAX_HISTORY_LEN", "1024"},
    {Plugin::fp8, "fp8-amax-compute-algo", "ACCELERATE_FP8_AMAX_COMPUTE_ALGO", "most_recent"},
    {Plugin::fp8, "fp8-opt-level", "ACCELERATE_FP8_OPT_LEVEL", "O2"},
    {Plugin::fp8, "fp8-enable-fsdp-float8-all-gather", "ACCELERATE_FP8_ENABLE_FSDP_FLOAT8_ALL_GATHER", "True"},
    {Plugin::fp8, "fp8-pad-inner-dim", "ACCELERATE_FP8_PAD_INNER_DIM", "True"},
    {Plugin::fsdp, "fsdp-version", "FSDP_VERSION", "1"},
    {Plugin::fsdp, "fsdp-sharding-strategy", "FSDP_SHARDING_STRATEGY", "FULL_SHARD"},
    {Plugin::fsdp, "fsdp-reshard-after-forward", "FSDP_RESHARD_AFTER_FORWARD", "true", true},
    {Plugin::fsdp, "fsdp-offload-params", "FSDP_OFFLOAD_PARAMS", "false", true},
    {Plugin::fsdp, "fsdp-min-num-params", "FSDP_MIN_NUM_PARAMS", "100000000"},
    {Plugin::fsdp, "fsdp-auto-wrap-policy", "FSDP_AUTO_WRAP_POLICY"},
    {Plugin::fsdp, "fsdp-transformer-layer-cls-to-wrap", "FSDP_TRANSFORMER_CLS_TO_WRAP"},
    {Plugin::fsdp, "fsdp-backward-prefetch", "FSDP_BACKWARD_PREFETCH"},
    {Plugin::fsdp, "fsdp-state-dict-type", "FSDP_STATE_DICT_TYPE"},
    {Plugin::fsdp, "fsdp-forward-prefetch", "FSDP_FORWARD_PREFETCH", "false", true},
    {Plugin::fsdp, "fsdp-use-orig-params", "FSDP_USE_ORIG_PARAMS", "true", true},
    {Plugin::fsdp, "fsdp-cpu-ram-efficient-loading", "FSDP_CPU_RAM_EFFICIENT_LOADING", "true", true},
    {Plugin::fsdp, "fsdp-sync-module-states", "FSDP_SYNC_MODULE_STATES", "true", true},
    {Plugin::fsdp, "fsdp-activation-checkpointing", "FSDP_ACTIVATION_CHECKPOINTING", "false", true},
    {Plugin::megatron, "megatron-lm-tp-degree", "MEGATRON_LM_TP_DEGREE", "1"},
    {Plugin::megatron, "megatron-lm-use-custom-fsdp", "MEGATRON_LM_USE_CUSTOM_FSDP", "False"},
    {Plugin::megatron, "megatron-lm-no-load-optim", "MEGATRON_LM_NO_LOAD_OPTIM", "False"},
    {Plugin::megatron, "megatron-lm-eod-mask-loss", "MEGATRON_LM_EOD_MASK_LOSS", "False"},
    {Plugin::megatron, "megatron-lm-no-save-optim", "MEGATRON_LM_NO_SAVE_OPTIM", "False"},
    {Plugin::megatron, "megatron-lm-optimizer-cpu-offload", "MEGATRON_LM_OPTIMIZER_CPU_OFFLOAD", "False"},
    {Plugin::megatron, "megatron-lm-use-precision-aware-optimizer", "MEGATRON_LM_USE_PRECISION_AWARE_OPTIMIZER",
     "False"},
    {Plugin::megatron, "megatron-lm-overlap-cpu-optimizer-d2h-h2d", "MEGATRON_LM_OVERLAP_CPU_OPTIMIZER_D2H_H2D",
     "False"},
    {Plugin::megatron, "megatron-lm-decoder-last-pipeline-num-layers", "MEGATRON_LM_DECODER_LAST_PIPELINE_NUM_LAYERS"},
    {Plugin::megatron, "megatron-lm-pp-degree", "MEGATRON_LM_PP_DEGREE", "1"},
    {Plugin::megatron, "megatron-lm-gradient-clipping", "MEGATRON_LM_GRADIENT_CLIPPING", "1.0"},
    {Plugin::megatron, "megatron-lm-num-micro-batches", "MEGATRON_LM_NUM_MICRO_BATCHES"},
    {Plugin::megatron, "megatron-lm-sequence-parallelism", "MEGATRON_LM_SEQUENCE_PARALLELISM"},
    {Plugin::megatron, "megatron-lm-recompute-activations", "MEGATRON_LM_RECOMPUTE_ACTIVATIONS"},
    {Plugin::megatron, "megatron-lm-use-distributed-optimizer", "MEGATRON_LM_USE_DISTRIBUTED_OPTIMIZER"},
    {Plugin::megatron, "megatron-lm-recompute-granularity", "MEGATRON_LM_RECOMPUTE_GRANULARITY"},
    {Plugin::megatron, "megatron-lm-recompute-method", "MEGATRON_LM_RECOMPUTE_METHOD"},
    {Plugin::megatron, "megatron-lm-recompute-num-layers", "MEGATRON_LM_RECOMPUTE_NUM_LAYERS"},
    {Plugin::megatron, "megatron-lm-attention-backend", "MEGATRON_LM_ATTENTION_BACKEND"},
    {Plugin::megatron, "megatron-lm-expert-model-parallel-size", "MEGATRON_LM_EXPERT_MODEL_PARALLEL_SIZE"},
    {Plugin::megatron, "megatron-lm-context-parallel-size", "MEGATRON_LM_CONTEXT_PARALLEL_SIZE"},
    {Plugin::megatron, "megatron-lm-attention-dropout", "MEGATRON_LM_ATTENTION_DROPOUT"},
    {Plugin::megatron, "megatron-lm-hidden-dropout", "MEGATRON_LM_HIDDEN_DROPOUT"},
    {Plugin::megatron, "megatron-lm-attention-softmax-in-fp32", "MEGATRON_LM_ATTENTION_SOFTMAX_IN_FP32"},
    {Plugin::megatron, "megatron-lm-expert-tensor-parallel-size", "MEGATRON_LM_EXPERT_TENSOR_PARALLEL_SIZE"},
    {Plugin::megatron, "megatron-lm-calculate-per-token-loss", "MEGATRON_LM_CALCULATE_PER_TOKEN_LOSS"},
    {Plugin::megatron, "megatron-lm-use-rotary-position-embeddings", "MEGATRON_LM_USE_ROTARY_POSITION_EMBEDDINGS"},
    {Plugin::deepspeed, "zero-stage", "ACCELERATE_DEEPSPEED_ZERO_STAGE"},
    {Plugin::deepspeed, "gradient-accumulation-steps", "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"},
    {Plugin::deepspeed, "gradient-clipping", "ACCELERATE_GRADIENT_CLIPPING", "", true},
    {Plugin::deepspeed, "offload-optimizer-device", "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", "", true},
    {Plugin::deepspeed, "offload-param-device", "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", "", true},
    {Plugin::deepspeed, "offload-optimizer-nvme-path", "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH"},
    {Plugin::deepspeed, "offload-param-nvme-path", "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH"},
    {Plugin::deepspeed, "zero3-init-flag", "ACCELERATE_DEEPSPEED_ZERO3_INIT", "", true},
    {Plugin::deepspeed, "zero3-save-16bit-model", "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL", "", true},
    {Plugin::deepspeed, "deepspeed-config-file", "ACCELERATE_DEEPSPEED_CONFIG_FILE"},
    {Plugin::deepspeed, "deepspeed-moe-layer-cls-names", "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES"},
    {Plugin::parallelism, "parallelism-config-dp-replicate-size", "PARALLELISM_CONFIG_DP_REPLICATE_SIZE", "1"},
    {Plugin::parallelism, "parallelism-config-dp-shard-size", "PARALLELISM_CONFIG_DP_SHARD_SIZE", "1"},
    {Plugin::parallelism, "parallelism-config-tp-size", "PARALLELISM_CONFIG_TP_SIZE", "1"},
    {Plugin::parallelism, "parallelism-config-cp-size", "PARALLELISM_CONFIG_CP_SIZE", "1"},
    {Plugin::parallelism, "parallelism-config-cp-backend", "PARALLELISM_CONFIG_CP_BACKEND", "torch"},
    {Plugin::parallelism, "parallelism-config-sp-size", "PARALLELISM_CONFIG_SP_SIZE", "1"},
    {Plugin::parallelism, "parallelism-config-sp-backend", "PARALLELISM_CONFIG_SP_BACKEND", "deepspeed"},
    {Plugin::parallelism, "parallelism-config-cp-comm-strategy", "PARALLELISM_CONFIG_CP_COMM_STRATEGY", "allgather"},
    {Plugin::parallelism, "parallelism-config-sp-seq-length", "PARALLELISM_CONFIG_SP_SEQ_LENGTH", "None"},
    {Plugin::parallelism, "parallelism-config-sp-seq-length-is-variable",
     "PARALLELISM_CONFIG_SP_SEQ_LENGTH_IS_VARIABLE", "True"},
    {Plugin::parallelism, "parallelism-config-sp-attn-implementation", "PARALLELISM_CONFIG_SP_ATTN_IMPLEMENTATION",
     "sdpa"},
};

std::string upper_case(string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

class ScriptSettings {
 public:
  ScriptSettings(LauncherJob& job, const LauncherLine& line, const AcceleratePlugins& plugins)
      : job_(job), line_(line), plugins_(plugins) {}

  void add() {
    add_flag("debug", "ACCELERATE_DEBUG_MODE", "true");
    add_flag("ipex", "ACCELERATE_USE_IPEX", "true");
    add_flag("use-xpu", "ACCELERATE_USE_XPU", "true");
    add_flag("enable-cpu-affinity", "ACCELERATE_CPU_AFFINITY", "1");
    const std::string precision = lower_case(line_.value("mixed-precision", "no"));
    set("mixed-precision", "ACCELERATE_MIXED_PRECISION", precision);
    if (precision == "fp8") add_fp8();
    if (plugins_.deepspeed) {
      add_deepspeed();
    } else {
      set("dynamo-backend", "ACCELERATE_DYNAMO_BACKEND", upper_case(line_.value("dynamo-backend", "no")));
      add_rows(Plugin::dynamo);
    }
    if (plugins_.fsdp) add_plugin(Plugin::fsdp, "use-fsdp", "ACCELERATE_USE_FSDP");
    if (plugins_.megatron) add_plugin(Plugin::megatron, "use-megatron-lm", "ACCELERATE_USE_MEGATRON_LM");
    if (plugins_.parallelism) {
      add_plugin(Plugin::parallelism, "use-parallelism-config", "ACCELERATE_USE_PARALLELISM_CONFIG");
    }
    if (!plugins_.deepspeed) add_threads();
  }

 private:
  void set(string_view option, string_view variable, string_view value) {
    const ParsedOption* given = line_.find(option);
    job_.add_variable(given ? *given : job_.itself(), variable, value);
  }

  void add_flag(string_view option, string_view variable, string_view value) {
    if (line_.find(option)) set(option, variable, value);
  }

  void add_plugin(Plugin plugin, string_view option, string_view variable) {
    set(option, variable, "true");
    add_rows(plugin);
  }

  void add_rows(Plugin plugin) {
    for (const ScriptSetting& row : kScriptSettings) {
      if (row.plugin != plugin) continue;
      const ParsedOption* given = line_.find(row.option);
      const bool flag = given && given->spec->takes == Arity::nothing;
      const std::string value = flag ? "True" : given ? given->value : std::string(row.standard);
      if (given || !value.empty()) set(row.option, row.variable, row.lower ? lower_case(value) : value);
    }
  }

  void add_fp8() {
    add_rows(Plugin::fp8);
    const ParsedOption* given = line_.find("fp8-override-linear-precision");
    auto each = given ? split(given->value, ',') : std::vector<std::string>{};
    each.resize(3, "False");
    size_t at = 0;
    for (const string_view name : {"FPROP", "DGRAD", "WGRAD"}) {
      const std::string value = lower_case(trim(each[at++]));
      const bool on =
          value == "true" || value == "1" || value == "yes" || value == "y" || value == "t" || value == "on";
      set("fp8-override-linear-precision", "ACCELERATE_FP8_OVERRIDE_" + std::string(name), on ? "True" : "False");
    }
  }

  void add_deepspeed() {
    const auto path = filled_variable(job_.context().environment, "PYTHONPATH");
    job_.add_variable(job_.itself(), "PYTHONPATH", (path ? *path + ":" : "") + job_.context().cwd);
    set("config-file", "ACCELERATE_CONFIG_DS_FIELDS", lower_case(plugins_.deepspeed_fields));
    add_plugin(Plugin::deepspeed, "use-deepspeed", "ACCELERATE_USE_DEEPSPEED");
  }

  /// With --cpu OMP_NUM_THREADS stays unset: OpenMP counts the CPUs of the rank.
  void add_threads() {
    constexpr string_view kThreads = "OMP_NUM_THREADS";
    if (plugins_.alone) {
      const bool cpu = line_.find("cpu") != nullptr;
      set("cpu", "ACCELERATE_USE_CPU", cpu ? "True" : "False");
      if (cpu) {
        job_.add_variable(job_.itself(), "KMP_AFFINITY", "granularity=fine,compact,1,0");
        job_.add_variable(job_.itself(), "KMP_BLOCKTIME", "1");
      }
    }
    if (const ParsedOption* threads = line_.find("num-cpu-threads-per-process")) {
      job_.add_variable(*threads, kThreads, threads->value);
    } else if (!line_.find("cpu") && !filled_variable(job_.context().environment, kThreads)) {
      job_.add_variable(job_.itself(), kThreads, "1");
    }
  }

  LauncherJob& job_;
  const LauncherLine& line_;
  const AcceleratePlugins& plugins_;
};

}  // namespace

void add_accelerate_settings(LauncherJob& job, const LauncherLine& line, const AcceleratePlugins& plugins) {
  ScriptSettings(job, line, plugins).add();
}

string_view accelerate_plugin_of(string_view option) {
  if (option.starts_with("fp8-")) return "mixed-precision";
  const auto* const row = std::ranges::find(kScriptSettings, option, &ScriptSetting::option);
  if (row == std::end(kScriptSettings)) return {};
  switch (row->plugin) {
    case Plugin::fsdp:
      return "use-fsdp";
    case Plugin::megatron:
      return "use-megatron-lm";
    case Plugin::deepspeed:
      return "use-deepspeed";
    case Plugin::parallelism:
      return "use-parallelism-config";
    case Plugin::dynamo:
    case Plugin::fp8:
      break;
  }
  return {};
}

}  // namespace dlaunch::cli
