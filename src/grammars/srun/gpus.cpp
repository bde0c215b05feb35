#include <optional>

#include "base/text.h"
#include "grammars/launcher_job.h"
#include "grammars/srun/srun.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr int kMostGpus = 100'000;

/// Returns a shell script that gives each rank the next N devices of each list of its node (CUDA_VISIBLE_DEVICES and
/// others). If no list is set, the script sets CUDA_VISIBLE_DEVICES to the next N numbers, counted from 0 on each node.
std::string share_script(int each, const std::string& spelled) {
  const std::string n = std::to_string(each);
  return "a=$((SLURM_LOCALID * " + n + " + 1)) b=$((SLURM_LOCALID * " + n + " + " + n +
         ")) any=\n"
         "for v in CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES ASCEND_RT_VISIBLE_DEVICES ZE_AFFINITY_MASK; do\n"
         "eval \"all=\\$$v\"; [ \"$all\" ] || continue; any=1\n"
         "if [ -z \"$(printf '%s,' \"$all\" | cut -d, -f$b)\" ]; then echo \"" +
         spelled +
         ": $v has too few devices for rank $SLURM_PROCID: $all\" >&2; exit 1; fi\n"
         "export \"$v=$(printf '%s,' \"$all\" | cut -d, -f$a-$b)\"; done\n"
         "[ \"$any\" ] || export CUDA_VISIBLE_DEVICES=$(seq -s, $((a - 1)) $((b - 1)))\nexec \"$@\"";
}

}  // namespace

std::optional<int> srun_gpus(string_view text) {
  if (text.find(',') != string_view::npos) return std::nullopt;
  const string_view last = text.substr(text.rfind(':') + 1);
  if (const auto number = parse_int(last, 0, kMostGpus)) return static_cast<int>(*number);
  if (!text.starts_with("gpu")) return std::nullopt;
  return 1;
}

const ParsedOption* srun_gpus_per_task(const LauncherLine& line) {
  const ParsedOption* each = line.find("gpus-per-task");
  return each && srun_gpus(each->value) == 0 ? nullptr : each;
}

Result<void> add_srun_gpus(LauncherJob& job, std::vector<std::string>& argv) {
  const ParsedOption* each = srun_gpus_per_task(job.line());
  const ParsedOption* bind = job.line().find("gpu-bind");
  if (!each || (bind && bind->value.ends_with("none"))) return {};
  const auto number = srun_gpus(each->value);
  if (!number) return refuse_value(*each, "number of devices", "1 or gpu:1");
  if (*number == 1) return {};
  if (bind && bind->value != "per_task:" + std::to_string(*number)) {
    return refuse_conflict(*bind, each->spelled + " " + each->value,
                           "ranks get devices in the order of the node's list",
                           "remove --gpu-bind, or set it to none: ranks then see all devices");
  }
  const std::vector<std::string> shell = {"sh", "-c", share_script(*number, each->spelled), "sh"};
  argv.insert(argv.begin(), shell.begin(), shell.end());
  return {};
}

}  // namespace dlaunch::cli
