#include "grammars/accelerate/accelerate.h"

#include <algorithm>

#include "base/environment.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"
#include "grammars/yaml_settings.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

/// Keys that accelerate ignores, because the default of the option overrides the key.
constexpr string_view kPassedOver[] = {"rdzv_backend", "same_network", "enable_cpu_affinity", "downcast_bf16"};
/// Keys for TPUs.
constexpr string_view kTpuKeys[] = {"tpu_name",     "tpu_zone", "tpu_use_cluster", "tpu_use_sudo",
                                    "command_file", "commands", "tpu_vm",          "tpu_env"};

/// The prefix of the section's option names. Keys may omit the prefix.
string_view prefix_of(string_view section) {
  if (section == "fsdp_config") return "fsdp_";
  if (section == "fp8_config") return "fp8_";
  return section == "dynamo_config" ? "dynamo_" : "";
}

template <size_t N>
bool is_among(string_view text, const string_view (&words)[N]) {
  return std::ranges::find(words, text) != std::end(words);
}

class ConfigOptions {
 public:
  ConfigOptions(LauncherJob& job, LauncherLine& line) : job_(job), line_(line) {}

  Result<AccelerateConfig> read() {
    const std::string name = TRY(file_name());
    if (name.empty()) return AccelerateConfig{};
    const auto path = TRY(absolute_path(name, job_.context().cwd));
    const auto text = job_.context().read_file(path);
    if (!text && text.error().missing && !line_.find("config-file")) return AccelerateConfig{};
    if (!text) return fail(text.error().error);
    const auto settings = TRY(parse_yaml_settings(*text, name));
    config_.found = true;
    for (const YamlSetting& setting : settings) {
      TRY(setting.section.empty() ? take(setting) : take_of_section(setting));
    }
    if (!has_type_) {
      return fail({.where = name,
                   .what = "missing key \"distributed_type\"",
                   .why = "",
                   .hint = "add distributed_type: MULTI_GPU"});
    }
    if (type_ == "NO" && !has("num-processes")) add("num-processes", "1", name);
    const bool one = type_ == "NO" || type_ == "MULTI_CPU";
    if (!cpu_.empty() && one && !has_kind()) add("cpu", "True", cpu_);
    if (!line_.find("mixed-precision") && has("mixed-precision")) add_field("mixed_precision");
    line_.options.insert(line_.options.begin(), options_.begin(), options_.end());
    return config_;
  }

 private:
  /// The name of the file; empty: do not read a file.
  Result<std::string> file_name() const {
    const auto& environment = job_.context().environment;
    if (const ParsedOption* given = line_.find("config-file")) {
      if (!given->value.ends_with(".json")) return given->value;
      return refuse_option(*given, "not supported: JSON file", "", "write the file as YAML: lines of KEY: VALUE");
    }
    if (line_.find("cpu")) return std::string();
    if (const auto home = filled_variable(environment, "HF_HOME")) return *home + kUsualName;
    if (const auto cache = filled_variable(environment, "XDG_CACHE_HOME")) return *cache + "/huggingface" + kUsualName;
    const auto home = filled_variable(environment, "HOME");
    return home ? *home + "/.cache/huggingface" + kUsualName : std::string();
  }

  bool has(string_view option) const {
    const auto of_it = [&](const ParsedOption& given) { return given.spec->name() == option; };
    return std::ranges::any_of(options_, of_it) || line_.find(option) != nullptr;
  }

  void add(string_view option, std::string value, const std::string& where) {
    const LauncherOption* known = find_launcher_option(accelerate_launcher(), option);
    const bool flag = known->row.takes == Arity::nothing;
    if (flag) value = value == "True" ? "true" : "false";
    options_.push_back({.spec = &known->row,
                        .value = std::move(value),
                        .spelled = where + ": " + std::string(option),
                        .origin = where,
                        .source = Source::command_line});
  }

  void add_field(const std::string& key) {
    config_.deepspeed_fields += (config_.deepspeed_fields.empty() ? "" : ",") + key;
  }

  Result<void> take(const YamlSetting& setting) {
    if (setting.key == "compute_environment") {
      if (setting.value == "LOCAL_MACHINE") return {};
      return refuse(setting, "not supported: " + setting.key + " " + setting.value, "run accelerate without dlaunch");
    }
    if (setting.key == "distributed_type") return take_type(setting);
    if (setting.key == "use_cpu") {
      if (setting.value == "True") cpu_ = setting.where;
      return {};
    }
    if (setting.key == "fp16") {
      if (setting.value == "True" && !has("mixed-precision")) add("mixed-precision", "fp16", setting.where);
      return {};
    }
    if (setting.key == "dynamo_backend") return add("dynamo-backend", setting.value, setting.where), Result<void>();
    if (is_among(setting.key, kTpuKeys)) {
      if (setting.value == "False") return {};
      return refuse(setting, "not supported: " + setting.key + ", a key for TPUs", "run accelerate without dlaunch");
    }
    if (is_among(setting.key, kPassedOver)) {
      const bool usual = setting.value == "False" || setting.value == "static" || setting.value == "no";
      if (!usual && setting.key != "same_network") {
        job_.note(setting.where + ": " + setting.key +
                  " changes nothing, as in accelerate; use the command-line option");
      }
      return {};
    }
    return take_known(setting);
  }

  Result<void> take_known(const YamlSetting& setting) {
    constexpr string_view kKnown[] = {"num_processes",   "num_machines",    "machine_rank",
                                      "gpu_ids",         "main_process_ip", "main_process_port",
                                      "mixed_precision", "debug",           "main_training_function"};
    if (!is_among(setting.key, kKnown)) {
      return refuse(setting, "unknown key \"" + setting.key + "\"", "remove the key, or put the key below its section");
    }
    if (setting.key == "main_training_function") return {};
    if (setting.key == "num_processes" && setting.value == "-1") {
      if (line_.find("num-processes")) return {};
      return refuse(setting, "num_processes: invalid number \"-1\": expected at least 1", "add --num_processes N");
    }
    return add(dashes_for_underscores(setting.key), setting.value, setting.where), Result<void>();
  }

  static tl::unexpected<Error> refuse(const YamlSetting& setting, std::string what, std::string hint) {
    return fail({.where = setting.where, .what = std::move(what), .why = "", .hint = std::move(hint)});
  }

  Result<void> take_type(const YamlSetting& setting) {
    has_type_ = true;
    type_ = setting.value == "False" ? "NO" : setting.value;
    constexpr string_view kDevices[] = {"MULTI_GPU", "MULTI_NPU",  "MULTI_MLU", "MULTI_SDAA",
                                        "MULTI_XPU", "MULTI_MUSA", "MULTI_HPU", "MULTI_NEURON"};
    const bool has_one = has_kind();
    string_view option;
    if (is_among(type_, kDevices)) option = "multi-gpu";
    if (type_ == "DEEPSPEED") option = "use-deepspeed";
    if (type_ == "FSDP") option = "use-fsdp";
    if (type_ == "MEGATRON_LM") option = "use-megatron-lm";
    if (!option.empty() && !has_one) add(option, "True", setting.where);
    if (!option.empty() || type_ == "NO" || type_ == "MULTI_CPU") return {};
    return refuse(setting, "not supported: distributed_type " + type_,
                  "use NO, MULTI_GPU, FSDP, DEEPSPEED or MEGATRON_LM");
  }

  /// Whether an option of the line chooses how ranks start.
  bool has_kind() const {
    constexpr string_view kKinds[] = {"multi-gpu", "use-deepspeed", "use-fsdp", "use-megatron-lm", "cpu"};
    return std::ranges::any_of(kKinds, [&](string_view name) { return line_.find(name) != nullptr; });
  }

  Result<void> take_of_section(const YamlSetting& setting) {
    const string_view prefix = prefix_of(setting.section);
    const std::string option =
        dashes_for_underscores(setting.key.starts_with(prefix) ? setting.key : std::string(prefix) + setting.key);
    const LauncherOption* known = find_launcher_option(accelerate_launcher(), option);
    if (!known || option == "config-file" || known->row.takes == Arity::show) {
      return refuse(setting, "unknown key \"" + setting.key + "\" in " + setting.section,
                    "remove the key, and set its variable with dlaunch's -x");
    }
    if (known->support == Support::refused) {
      return refuse(setting, "not supported: " + setting.key, std::string(known->row.help));
    }
    if (setting.section == "deepspeed_config") add_field(setting.key);
    if (setting.section == "parallelism_config" && !has_kind() && !has("use-parallelism-config")) {
      add("use-parallelism-config", "True", setting.where);
    }
    add(known->row.name(), setting.value, setting.where);
    return {};
  }

  static constexpr const char* kUsualName = "/accelerate/default_config.yaml";
  LauncherJob& job_;
  LauncherLine& line_;
  AccelerateConfig config_;
  std::vector<ParsedOption> options_;
  bool has_type_ = false;
  std::string type_;
  std::string cpu_;  // FILE:LINE of use_cpu: true; empty: not set
};

}  // namespace

Result<AccelerateConfig> read_accelerate_config(LauncherJob& job, LauncherLine& line) {
  return ConfigOptions(job, line).read();
}

}  // namespace dlaunch::cli
