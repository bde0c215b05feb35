#include "grammars/accelerate/accelerate.h"

#include <algorithm>

#include "base/environment.h"
#include "base/most_nodes.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"
#include "grammars/launchers.h"
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
    const auto text = job_.context().read(path);
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

namespace {

using std::string_view;

constexpr string_view kTorchPort = "29500";

class AccelerateJob {
 public:
  explicit AccelerateJob(LauncherJob& job) : job_(job), line_(job.line()) {}

  Result<void> make() {
    config_ = TRY(read_accelerate_config(job_, line_));
    TRY(check_kinds());
    TRY(read_numbers());
    TRY(choose_kind());
    TRY(check_values());
    note_idle();
    add_devices();
    plugins_.deepspeed_fields = config_.deepspeed_fields;
    add_accelerate_settings(job_, line_, plugins_);
    if (plugins_.alone) return start_one();
    const bool by_hosts = plugins_.deepspeed && machines_ > 1 && !on_each_machine();
    return by_hosts ? start_by_hosts() : start_by_torch();
  }

 private:
  Result<void> check_kinds() const {
    const ParsedOption* first = nullptr;
    for (const char* name : {"multi-gpu", "cpu", "use-deepspeed", "use-fsdp"}) {
      const ParsedOption* given = line_.find(name);
      if (given && first) return refuse_conflict(*given, first->spelled, "", "remove one of them");
      if (given) first = given;
    }
    const ParsedOption* plain = line_.find("no-python");
    if (!plain || !line_.find("module")) return {};
    return refuse_conflict(*plain, "--module", "a module requires Python", "remove one of them");
  }

  Result<void> read_numbers() {
    if (const ParsedOption* given = line_.find("num-machines")) machines_ = TRY(number_of(*given, 1, kMostNodes));
    if (const ParsedOption* given = line_.find("num-processes")) processes_ = TRY(number_of(*given, 1, kMaxRanks));
    if (const ParsedOption* given = line_.find("main-process-port")) TRY(number_of(*given, 0, kMostPort));
    if (const ParsedOption* given = line_.find("machine-rank")) TRY(number_of(*given, 0, kMostNodes - 1));
    const ParsedOption* gpus = line_.find("multi-gpu");
    if (gpus && processes_ == 1) {
      return refuse_without(*gpus, "at least 2 processes", "", "set --num_processes 2, or remove --multi_gpu");
    }
    if (machines_ == 1) return {};
    const ParsedOption& machines = *line_.find("num-machines");
    if (processes_ == 0) {
      return refuse_without(machines, "--num_processes", "the total number of ranks on all machines",
                            "set --num_processes to " + std::to_string(machines_) + " times the devices per machine");
    }
    if (processes_ % machines_ == 0) return {};
    return refuse_value(*line_.find("num-processes"), "number", "a multiple of --num_machines " + machines.value);
  }

  /// Chooses the plugins from the options, else from the configuration file. Default: one rank per device.
  Result<void> choose_kind() {
    const bool cpu = line_.find("cpu") != nullptr;
    const auto is_on = [&](const char* name) { return !cpu && line_.find(name) != nullptr; };
    plugins_.deepspeed = is_on("use-deepspeed");
    plugins_.fsdp = is_on("use-fsdp");
    plugins_.megatron = is_on("use-megatron-lm");
    plugins_.parallelism = is_on("use-parallelism-config");
    const bool together = is_on("multi-gpu") || plugins_.deepspeed || plugins_.fsdp || plugins_.megatron;
    plugins_.alone = !together && (cpu || config_.found || processes_ == 1);
    if (plugins_.parallelism && (!plugins_.fsdp || line_.value("fsdp-version", "1") != "2")) {
      return refuse_without(*line_.find("use-parallelism-config"), "--use_fsdp and --fsdp_version 2", "",
                            "add both options");
    }
    if (!plugins_.alone || processes_ < 2) return {};
    if (machines_ > 1) {
      return refuse_without(*line_.find("num-machines"), "--multi_gpu",
                            "otherwise each machine trains alone with one process", "add --multi_gpu");
    }
    job_.note("--num_processes changes nothing, as in accelerate: " +
              std::string(cpu ? "--cpu" : "the configuration file") + " starts one process; --multi_gpu starts more");
    return {};
  }

  Result<void> check_values() const {
    if (const ParsedOption* given = line_.find("mixed-precision")) {
      constexpr string_view kKnown[] = {"no", "fp16", "bf16", "fp8"};
      if (std::ranges::find(kKnown, given->value) == std::end(kKnown)) {
        return refuse_value(*given, "precision", "no, fp16, bf16 or fp8; in a file, quote 'no'");
      }
    }
    return {};
  }

  /// Adds notes about options of plugins not in use.
  void note_idle() {
    for (const ParsedOption& given : line_.options) {
      if (!given.spelled.starts_with('-') || line_.find(given.spec->name()) != &given) continue;
      const string_view plugin = accelerate_plugin_of(given.spec->name());
      const bool in_use = plugin.empty() || (plugin == "mixed-precision" && line_.value(plugin) == "fp8") ||
                          (plugin != "mixed-precision" && !line_.find("cpu") && line_.find(plugin));
      if (in_use) continue;
      std::string name = as_typed(accelerate_launcher(), plugin);
      if (plugin == "mixed-precision") name += " fp8";
      job_.note(given.spelled + " changes nothing without " + name);
    }
    const ParsedOption* address = line_.find("main-process-ip");
    if (address && machines_ == 1 && line_.typed("main-process-ip")) {
      job_.note(address->spelled + " changes nothing on one machine: the ranks connect to 127.0.0.1");
    }
  }

  void add_devices() {
    const ParsedOption* given = line_.find("gpu-ids");
    if (!given || given->value == "all") return;
    job_.add(*given, "devices", given->value);
    job_.add(*given, "visible", "host");
  }

  Result<void> start_one() {
    std::vector<std::string> argv = line_.program;
    job_.add(line_.find("cpu") ? *line_.find("cpu") : job_.itself(), "n", "1");
    if (argv.empty() || line_.find("no-python")) return job_.set_program(std::move(argv));
    if (line_.find("module")) argv.insert(argv.begin(), "-m");
    argv.insert(argv.begin(), job_.in_path({"python3", "python"}));
    return job_.set_program(std::move(argv));
  }

  /// True for several machines without a hostfile, too, although DeepSpeed would use only this machine.
  bool on_each_machine() const {
    return line_.value("deepspeed-multinode-launcher") == "standard" || !line_.find("deepspeed-hostfile");
  }

  Result<void> start_by_torch() {
    std::vector<std::string> words;
    const int each = processes_ / machines_;
    words.push_back("--nproc-per-node=" + (each > 0 ? std::to_string(each) : std::string("gpu")));
    if (machines_ > 1) {
      const ParsedOption* address = line_.find("main-process-ip");
      if (!address) {
        return refuse_without(*line_.find("num-machines"), "--main_process_ip",
                              "the other machines connect to machine 0",
                              "add --main_process_ip HOST, the address of machine 0");
      }
      words.push_back("--nnodes=" + std::to_string(machines_));
      words.push_back("--master-addr=" + address->value);
      if (const ParsedOption* rank = line_.find("machine-rank")) words.push_back("--node-rank=" + rank->value);
      words.push_back("--master-port=" + line_.value("main-process-port", kTorchPort));
    } else {
      words.push_back("--master-port=" + line_.value("main-process-port", "0"));
    }
    for (const char* name :
         {"tee", "log-dir", "role", "rdzv-backend", "rdzv-conf", "max-restarts", "monitor-interval"}) {
      if (const ParsedOption* given = line_.find(name)) words.push_back("--" + std::string(name) + "=" + given->value);
    }
    add_program(words, "--no-python");
    job_.add(job_.itself(), "env-for", "torchrun");
    return take(torchrun_launcher(), words, without_own(job_.context().environment));
  }

  /// Starts the line as the deepspeed launcher would, on the hosts of the hostfile.
  Result<void> start_by_hosts() {
    std::vector<std::string> words = {"--hostfile=" + line_.value("deepspeed-hostfile")};
    if (line_.value("deepspeed-multinode-launcher") == "nossh") {
      words.push_back("--node_rank=" + line_.value("machine-rank", "0"));
      words.emplace_back("--no_ssh");
    } else {
      words.emplace_back("--no_local_rank");
    }
    if (const ParsedOption* out = line_.find("deepspeed-exclusion-filter")) {
      words.push_back("--exclude=" + out->value);
    } else if (const ParsedOption* in = line_.find("deepspeed-inclusion-filter")) {
      words.push_back("--include=" + in->value);
    } else {
      words.push_back("--num_gpus=" + std::to_string(processes_ / machines_));
    }
    if (const ParsedOption* address = line_.find("main-process-ip")) {
      words.push_back("--master_addr=" + address->value);
    }
    words.push_back("--master_port=" + line_.value("main-process-port", kTorchPort));
    add_program(words, "--no_python");
    job_.add(job_.itself(), "env-for", "deepspeed");
    job_.add(job_.itself(), "visible", "host");
    return take(deepspeed_launcher(), words, {});
  }

  /// `no_python`: the launcher's spelling of the option.
  void add_program(std::vector<std::string>& words, const char* no_python) const {
    if (line_.find("module")) words.emplace_back("--module");
    if (line_.find("no-python")) words.emplace_back(no_python);
    words.emplace_back("--");
    words.insert(words.end(), line_.program.begin(), line_.program.end());
  }

  /// Removes PET_… variables of options that accelerate always passes to torchrun.
  static std::vector<std::string> without_own(std::vector<std::string> environment) {
    constexpr string_view kOwn[] = {"PET_TEE",       "PET_LOG_DIR",        "PET_ROLE",       "PET_RDZV_BACKEND",
                                    "PET_RDZV_CONF", "PET_MAX_RESTARTS",   "PET_MODULE",     "PET_MONITOR_INTERVAL",
                                    "PET_NO_PYTHON", "PET_NPROC_PER_NODE", "PET_MASTER_PORT"};
    std::erase_if(environment, [&](const std::string& entry) {
      return std::ranges::find(kOwn, variable_name(entry)) != std::end(kOwn);
    });
    return environment;
  }

  /// Takes over the options and the program for a command line of another launcher.
  Result<void> take(const LauncherSpec& launcher, const std::vector<std::string>& words,
                    const std::vector<std::string>& environment) {
    const auto line = TRY(read_launcher_line(launcher, words, environment));
    for (const std::string& note : line.notes) job_.note(note);
    return job_.take_over(launcher, line);
  }

  LauncherJob& job_;
  LauncherLine line_;  // includes the settings of the configuration file
  AccelerateConfig config_;
  AcceleratePlugins plugins_;
  int machines_ = 1;
  int processes_ = 0;  // 0: one rank per device
};

}  // namespace

Result<void> make_accelerate_job(LauncherJob& job) { return AccelerateJob(job).make(); }

}  // namespace dlaunch::cli
