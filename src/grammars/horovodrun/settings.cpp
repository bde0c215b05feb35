// Horovod's settings: options of horovodrun, variables of the ranks.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "base/try.h"
#include "grammars/horovodrun/horovodrun.h"
#include "grammars/launcher_job.h"

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

}  // namespace dlaunch::cli
