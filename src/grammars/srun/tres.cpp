#include "base/try.h"
#include "grammars/launcher_job.h"
#include "grammars/srun/srun.h"
#include "place/slurm_tres.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

bool is_typed(const ParsedOption& given) { return given.spelled.starts_with('-'); }

/// Another option of srun that has its value from `given`.
ParsedOption as_option(const ParsedOption& given, string_view name, std::string value) {
  ParsedOption made = given;
  made.spec = &find_launcher_option(srun_launcher(), name)->row;
  made.value = std::move(value);
  return made;
}

class TresOptions {
 public:
  explicit TresOptions(LauncherLine& line) : line_(line) {}

  Result<void> replace() {
    for (const ParsedOption& given : line_.options) {
      const string_view name = given.spec->name();
      if (name == "tres-per-task") {
        TRY(add_resources(given));
      } else if (name == "tres-bind") {
        TRY(add_binding(given));
      } else {
        typed_.push_back(given);
      }
    }
    line_.options = std::move(of_variables_);
    line_.options.insert(line_.options.end(), typed_.begin(), typed_.end());
    return {};
  }

 private:
  /// The options of a variable come before all others, which override them.
  void add(const ParsedOption& given, string_view name, std::string value) {
    (is_typed(given) ? typed_ : of_variables_).push_back(as_option(given, name, std::move(value)));
  }

  void ignore(const ParsedOption& given, const std::string& resource) {
    if (is_typed(given)) line_.notes.push_back(given.spelled + " " + resource + " changes nothing here");
  }

  Result<void> add_resources(const ParsedOption& given) {
    const auto found = place::parse_tres_per_task(given.value);
    if (!found) return refuse_value(given, "list of resources", "cpu=N,gres/gpu=N or gres/gpu:TYPE=N");
    if (found->cpus) {
      TRY(check_once(given, "cpus-per-task"));
      add(given, "cpus-per-task", std::to_string(*found->cpus));
    }
    if (!found->gpus.empty()) {
      TRY(check_once(given, "gpus-per-task"));
      add(given, "gpus-per-task", found->gpus);
    }
    for (const std::string& other : found->others) ignore(given, other);
    return {};
  }

  /// srun also rejects both on its command line.
  Result<void> check_once(const ParsedOption& given, string_view name) const {
    if (!is_typed(given) || !line_.typed(name)) return {};
    return refuse_conflict(given, line_.find(name)->spelled, "both set the resources of a task", "remove one of them");
  }

  /// Slurm sets the variable to gres/gpu:per_task:N for --gpus-per-task N, which binds the ranks already.
  Result<void> add_binding(const ParsedOption& given) {
    const auto bind = place::gpu_bind_of_tres(given.value);
    if (!bind) return refuse_value(given, "binding", "gres/gpu:HOW, as in --gpu-bind HOW");
    const bool implied = !is_typed(given) && bind->starts_with("per_task:") && asks_for_gpus();
    if (bind->empty()) ignore(given, given.value);
    if (!bind->empty() && !implied) add(given, "gpu-bind", *bind);
    return {};
  }

  bool asks_for_gpus() const {
    const ParsedOption* resources = line_.find("tres-per-task");
    return srun_gpus_per_task(line_) || (resources && place::tres_per_task_has_gpus(resources->value));
  }

  LauncherLine& line_;
  std::vector<ParsedOption> of_variables_;
  std::vector<ParsedOption> typed_;
};

}  // namespace

Result<void> replace_srun_tres(LauncherLine& line) { return TresOptions(line).replace(); }

}  // namespace dlaunch::cli
