// Horovod's settings: options of horovodrun, variables of the ranks.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "base/try.h"
#include "cli/setters.h"
#include "grammars/horovodrun/horovodrun.h"
#include "grammars/launcher_job.h"
#include "grammars/yaml_settings.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

enum class Kind { text, whole, number, fraction, megabytes, level, on, off };

struct HorovodSetting {
  string_view option;
  string_view variable;
  Kind kind = Kind::text;
  string_view needs = {};  ///< the setting has no effect without this option
};

constexpr HorovodSetting kSettings[] = {
    {"fusion-threshold-mb", "HOROVOD_FUSION_THRESHOLD", Kind::megabytes},
    {"cycle-time-ms", "HOROVOD_CYCLE_TIME", Kind::number},
    {"cache-capacity", "HOROVOD_CACHE_CAPACITY", Kind::whole},
    {"hierarchical-allreduce", "HOROVOD_HIERARCHICAL_ALLREDUCE", Kind::on},
    {"no-hierarchical-allreduce", "HOROVOD_HIERARCHICAL_ALLREDUCE", Kind::off},
    {"hierarchical-allgather", "HOROVOD_HIERARCHICAL_ALLGATHER", Kind::on},
    {"no-hierarchical-allgather", "HOROVOD_HIERARCHICAL_ALLGATHER", Kind::off},
    {"torus-allreduce", "HOROVOD_TORUS_ALLREDUCE", Kind::on},
    {"no-torus-allreduce", "HOROVOD_TORUS_ALLREDUCE", Kind::off},
    {"autotune", "HOROVOD_AUTOTUNE", Kind::on},
    {"autotune-log-file", "HOROVOD_AUTOTUNE_LOG", Kind::text, "autotune"},
    {"autotune-warmup-samples", "HOROVOD_AUTOTUNE_WARMUP_SAMPLES", Kind::whole, "autotune"},
    {"autotune-steps-per-sample", "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", Kind::whole, "autotune"},
    {"autotune-bayes-opt-max-samples", "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", Kind::whole, "autotune"},
    {"autotune-gaussian-process-noise", "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", Kind::fraction, "autotune"},
    {"timeline-filename", "HOROVOD_TIMELINE", Kind::text},
    {"timeline-mark-cycles", "HOROVOD_TIMELINE_MARK_CYCLES", Kind::on, "timeline-filename"},
    {"no-timeline-mark-cycles", "HOROVOD_TIMELINE_MARK_CYCLES", Kind::off, "timeline-filename"},
    {"no-stall-check", "HOROVOD_STALL_CHECK_DISABLE", Kind::on},
    {"stall-check", "HOROVOD_STALL_CHECK_DISABLE", Kind::off},
    {"stall-check-warning-time-seconds", "HOROVOD_STALL_CHECK_TIME_SECONDS", Kind::whole},
    {"stall-check-shutdown-time-seconds", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", Kind::whole},
    {"mpi-threads-disable", "HOROVOD_MPI_THREADS_DISABLE", Kind::on},
    {"no-mpi-threads-disable", "HOROVOD_MPI_THREADS_DISABLE", Kind::off},
    {"num-nccl-streams", "HOROVOD_NUM_NCCL_STREAMS", Kind::whole},
    {"thread-affinity", "HOROVOD_THREAD_AFFINITY", Kind::whole},
    {"gloo-timeout-seconds", "HOROVOD_GLOO_TIMEOUT_SECONDS", Kind::whole},
    {"log-level", "HOROVOD_LOG_LEVEL", Kind::level},
    {"log-with-timestamp", "HOROVOD_LOG_HIDE_TIME", Kind::off},
    {"log-without-timestamp", "HOROVOD_LOG_HIDE_TIME", Kind::on},
    {"log-hide-timestamp", "HOROVOD_LOG_HIDE_TIME", Kind::on},
    {"no-log-hide-timestamp", "HOROVOD_LOG_HIDE_TIME", Kind::off},
};

constexpr std::array<string_view, 6> kLevels = {"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "FATAL"};

bool is_number(string_view text, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most;
}

/// The value of the variable.
Result<std::string> variable_value(const HorovodSetting& setting, const ParsedOption& given) {
  constexpr long kMost = 1L << 40;
  constexpr long kMega = 1L << 20;
  const auto whole = parse_int(given.value, 0, kMost / kMega * kMega);
  switch (setting.kind) {
    case Kind::on:
      return std::string("1");
    case Kind::off:
      return std::string("0");
    case Kind::text:
      return given.value;
    case Kind::megabytes:
      if (whole && *whole <= kMost / kMega) return std::to_string(*whole * kMega);
      return refuse_value(given, "number of megabytes", "a whole number from 0");
    case Kind::whole:
      if (whole) return given.value;
      return refuse_value(given, "number", "a whole number from 0");
    case Kind::number:
      if (is_number(given.value, 1e12)) return given.value;
      return refuse_value(given, "number", "a number from 0");
    case Kind::fraction:
      if (is_number(given.value, 1)) return given.value;
      return refuse_value(given, "number", "a number from 0 to 1");
    case Kind::level:
      break;
  }
  if (std::ranges::find(kLevels, given.value) != kLevels.end()) return given.value;
  return refuse_value(given, "level", "TRACE, DEBUG, INFO, WARNING, ERROR or FATAL");
}

}  // namespace

Result<void> add_horovod_settings(LauncherJob& job, const LauncherLine& line) {
  for (const ParsedOption& given : line.options) {
    const auto setting = std::ranges::find(kSettings, given.spec->name(), &HorovodSetting::option);
    if (setting == std::end(kSettings) || line.find(given.spec->name()) != &given) continue;
    const auto value = TRY(variable_value(*setting, given));
    if (!setting->needs.empty() && !line.find(setting->needs)) {
      // No note for the configuration file: its template contains all settings.
      if (given.spelled.starts_with('-')) {
        job.note(given.spelled + " changes nothing without --" + std::string(setting->needs));
      }
    } else {
      job.add_variable(given, setting->variable, value);
    }
  }
  return {};
}

// Translates horovodrun's YAML configuration file to options. Options of the command line override these options.

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
    return fail(
        {setting.where + ": " + setting.key, "invalid value \"" + setting.value + "\": expected " + expected, "", ""});
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
