// Translates horovodrun's YAML configuration file to options. Options of the command line override these options.
#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "cli/setters.h"
#include "grammars/horovodrun/horovodrun.h"
#include "grammars/launcher_job.h"
#include "grammars/yaml_settings.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

/// A key and its options on the command line. A flag has at least two options: the first means true, the second false.
struct HorovodKey {
  string_view section;
  string_view key;
  string_view options;
};

constexpr HorovodKey kKeys[] = {
    {"params", "fusion_threshold_mb", "fusion-threshold-mb"},
    {"params", "cycle_time_ms", "cycle-time-ms"},
    {"params", "cache_capacity", "cache-capacity"},
    {"params", "hierarchical_allreduce", "hierarchical-allreduce no-hierarchical-allreduce"},
    {"params", "hierarchical_allgather", "hierarchical-allgather no-hierarchical-allgather"},
    {"params", "torus_allreduce", "torus-allreduce no-torus-allreduce"},
    {"autotune", "enabled", "autotune no-autotune"},
    {"autotune", "log_file", "autotune-log-file"},
    {"autotune", "warmup_samples", "autotune-warmup-samples"},
    {"autotune", "steps_per_sample", "autotune-steps-per-sample"},
    {"autotune", "bayes_opt_max_samples", "autotune-bayes-opt-max-samples"},
    {"autotune", "gaussian_process_noise", "autotune-gaussian-process-noise"},
    {"timeline", "filename", "timeline-filename"},
    {"timeline", "mark_cycles", "timeline-mark-cycles no-timeline-mark-cycles"},
    {"stall_check", "enabled", "stall-check no-stall-check"},
    {"stall_check", "warning_time_seconds", "stall-check-warning-time-seconds"},
    {"stall_check", "shutdown_time_seconds", "stall-check-shutdown-time-seconds"},
    {"library_options", "mpi_threads_disable", "mpi-threads-disable no-mpi-threads-disable"},
    {"library_options", "num_nccl_streams", "num-nccl-streams"},
    {"library_options", "thread_affinity", "thread-affinity"},
    {"library_options", "gloo_timeout_seconds", "gloo-timeout-seconds"},
    {"logging", "level", "log-level"},
    {"logging", "with_timestamp", "log-with-timestamp log-without-timestamp log-hide-timestamp no-log-hide-timestamp"},
};

class HorovodConfig {
 public:
  HorovodConfig(LauncherJob& job, LauncherLine& line) : job_(job), line_(line) {}

  Result<void> read(const ParsedOption& file) {
    const auto text = TRY(text_of_file(file.value, job_.context()));
    const auto settings = TRY(parse_yaml_settings(text, file.value));
    for (const YamlSetting& setting : settings) {
      TRY(take(setting));
    }
    TRY(add_stall_check(settings));
    line_.options.insert(line_.options.begin(), options_.begin(), options_.end());
    return {};
  }

 private:
  Result<void> take(const YamlSetting& setting) {
    if (setting.section.empty() && setting.key == "controller") return take_controller(setting);
    if (setting.section == "logging" && setting.key == "hide_timestamp") {
      job_.note(setting.where + ": hide_timestamp changes nothing, as in horovodrun; use with_timestamp");
      return {};
    }
    const auto known = std::ranges::find_if(
        kKeys, [&](const HorovodKey& each) { return each.section == setting.section && each.key == setting.key; });
    if (known == std::end(kKeys)) {
      return fail(
          {.where = setting.where,
           .what = "unknown key \"" + setting.key + "\"" + (setting.section.empty() ? "" : " in " + setting.section),
           .why = "",
           .hint = "remove the key, or use an option on the command line"});
    }
    const std::vector<std::string> names = split(known->options, ' ');
    const auto typed = [&](const std::string& name) { return line_.find(name) != nullptr; };
    if (std::ranges::any_of(names, typed)) return {};
    if (names.size() == 1) return add(names[0], setting.value, setting), Result<void>();
    if (setting.value != "True" && setting.value != "False") {
      return invalid(setting, "true or false, without quotes");
    }
    return add(names[setting.value == "True" ? 0 : 1], "true", setting), Result<void>();
  }

  static tl::unexpected<Error> invalid(const YamlSetting& setting, const std::string& expected) {
    return fail({.where = setting.where + ": " + setting.key,
                 .what = "invalid value \"" + setting.value + "\": expected " + expected,
                 .why = "",
                 .hint = ""});
  }

  Result<void> take_controller(const YamlSetting& setting) {
    const std::string name = lower_case(setting.value);
    if (name != "gloo" && name != "mpi") {
      return invalid(setting, "gloo or mpi");
    }
    if (!line_.find("gloo") && !line_.find("mpi")) add(name, "true", setting);
    return {};
  }

  /// A section without `enabled` turns the check on.
  Result<void> add_stall_check(const std::vector<YamlSetting>& settings) {
    const auto section = std::ranges::find(settings, "stall_check", &YamlSetting::section);
    const bool said = std::ranges::any_of(
        settings, [](const YamlSetting& each) { return each.section == "stall_check" && each.key == "enabled"; });
    if (said || section == settings.end()) return {};
    return take({.section = section->section, .key = "enabled", .value = "True", .where = section->where});
  }

  void add(string_view option, std::string value, const YamlSetting& setting) {
    options_.push_back({.spec = &find_launcher_option(horovodrun_launcher(), option)->row,
                        .value = std::move(value),
                        .spelled = setting.where + ": " + setting.key,
                        .origin = setting.where,
                        .source = Source::command_line});
  }

  LauncherJob& job_;
  LauncherLine& line_;
  std::vector<ParsedOption> options_;
};

}  // namespace

Result<void> read_horovod_config(LauncherJob& job, LauncherLine& line) {
  const ParsedOption* file = line.find("config-file");
  if (!file) return {};
  // Copied, because read() inserts options in front of this element.
  const ParsedOption given = *file;
  return HorovodConfig(job, line).read(given);
}

}  // namespace dlaunch::cli
