#include "place/slurm_gpus.h"

#include <algorithm>
#include <string_view>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "place/manager_list.h"
#include "place/slurm_hosts.h"
#include "place/slurm_tres.h"

namespace dlaunch::place {
namespace {

constexpr const char* kNodes = "SLURM_JOB_NUM_NODES";
/// The answer from Slurm 23.11 and later, and a shell pattern of such versions: "slurm 24.11.5", "slurm-wlm 24.11.5".
constexpr std::string_view kNewer = "newer";
constexpr std::string_view kNewerVersions = "*' 23.11'* | *' 2'[4-9].* | *' '[3-9][0-9].*";

/// Whether only scontrol can show the job's GPUs per node.
bool asks_scontrol(const Environment& environment) {
  const bool one_node = filled_variable(environment, kNodes) == "1";  // the node is this machine
  return gpus_may_differ(environment) || (!one_node && gpus_may_be_unasked(environment));
}

/// In a heterogeneous job, the number of a group follows the name of the variable.
bool is_named(std::string_view name, std::string_view wanted) {
  return name == wanted || (name.starts_with(wanted) && name.substr(wanted.size()).starts_with("_HET_GROUP_"));
}

/// Whether this is the number of GPUs per task. Slurm 23.11 and later sets SLURM_TRES_PER_TASK instead of
/// SLURM_GPUS_PER_TASK.
bool is_gpus_per_task(std::string_view entry) {
  const std::string_view name = variable_name(entry);
  if (is_named(name, "SLURM_GPUS_PER_TASK")) return true;
  return is_named(name, "SLURM_TRES_PER_TASK") && entry.size() > name.size() &&
         tres_per_task_has_gpus(entry.substr(name.size() + 1));
}

/// Whether the entry of the environment is a variable of kGpuVariables with a value.
bool shows_gpus(std::string_view entry) {
  const std::string_view name = variable_name(entry);
  return entry.size() > name.size() + 1 &&
         std::ranges::any_of(kGpuVariables, [&](std::string_view each) { return is_named(name, each); });
}
}  // namespace

bool slurm_says_gpus(const Environment& environment) {
  return std::ranges::any_of(environment, shows_gpus) || std::ranges::any_of(environment, is_gpus_per_task);
}

bool gpus_may_differ(const std::vector<std::string>& environment) {
  return std::ranges::any_of(environment, [](const std::string& entry) {
    return is_named(variable_name(entry), "SLURM_GPUS") || is_gpus_per_task(entry);
  });
}

bool gpus_may_be_unasked(const std::vector<std::string>& environment) {
  const auto set = [&](const char* name) { return filled_variable(environment, name).has_value(); };
  const bool asked = set("SLURM_GPUS") || set("SLURM_GPUS_PER_NODE") || set("SLURM_GPUS_PER_SOCKET") ||
                     has_groups(environment) || std::ranges::any_of(environment, is_gpus_per_task);
  return set("SLURM_GPUS_ON_NODE") && !asked;
}

bool has_groups(const std::vector<std::string>& environment) {
  return filled_variable(environment, "SLURM_HET_SIZE").has_value();
}

bool asks_for_gpus(const std::string& shown) {
  return std::ranges::any_of(blank_separated(shown), [](std::string_view word) {
    return word.starts_with("TresPer") && word.find("gpu") != std::string_view::npos;
  });
}

std::string slurm_gpus_command(const std::string& job, const Environment& environment) {
  const bool asks = asks_scontrol(environment);
  if (!asks && !has_groups(environment)) return {};
  std::string line = "case $(scontrol --version 2>/dev/null) in ";
  line.append(kNewerVersions).append(") echo ").append(kNewer).append(" ;;");
  if (asks) line += " *) exec scontrol show job -d " + shell_quote(job) + " ;;";
  return "/bin/sh -c " + shell_quote(line + " esac");
}

Result<StepGpus> slurm_step_gpus(const Environment& environment, const ManagerAnswer& shown) {
  if (trim(shown.text) == kNewer) return StepGpus{.all = true};
  if (!asks_scontrol(environment)) return StepGpus{};
  const bool may_differ = gpus_may_differ(environment);
  if (!may_differ && asks_for_gpus(std::string(shown.text))) return StepGpus{};
  auto gpus = TRY(slurm_gpus(std::string(shown.text)));
  if (gpus.empty() && may_differ) {
    return fail({"scontrol show job", "does not report the job's GPUs per node", std::string(shown.trouble),
                 "use --transport ssh to start the agents outside of the job's steps"});
  }
  if (gpus.empty()) return StepGpus{};
  const int first = gpus.begin()->second;
  const bool on_all = filled_variable(environment, kNodes) == std::to_string(gpus.size());
  const bool even = on_all && std::ranges::all_of(gpus, [&](const auto& node) { return node.second == first; });
  if (even && !may_differ) return StepGpus{.each = first};
  return StepGpus{.differ = true, .of_node = std::move(gpus)};
}

std::string slurm_gpu_words(std::optional<int> gpus) {
  return gpus ? "--gpus=" + std::to_string(*gpus) : "--gres=none";
}

}  // namespace dlaunch::place
