// Parses Slurm's lists of trackable resources (TRES): --tres-per-task, --tres-bind, and the variables of the same name.
// Slurm 23.11 and later sets these variables for --gpus-per-task and --gpu-bind. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::place {

/// The resources of each task.
struct TresPerTask {
  std::optional<long> cpus;         ///< "cpu=2"
  std::string gpus;                 ///< "gres/gpu:a100=2" as in --gpus-per-task: "a100:2"; empty: no GPUs
  std::vector<std::string> others;  ///< names of other resources: "license/ansys"
};

/// "cpu=2,gres/gpu:a100=1"; also the older forms "cpu:2" and "gres:gpu:1". A missing number is 1; an entry with 0 GPUs
/// is ignored. nullopt for a malformed list, including a number that is not readable.
std::optional<TresPerTask> parse_tres_per_task(std::string_view text);

/// Whether each task has GPUs. True also for a number that is not readable: then ask Slurm for the GPUs.
bool tres_per_task_has_gpus(std::string_view text);

/// The binding of GPUs, in the words of --gpu-bind: "gres/gpu:verbose,map:0,1+gres/nic:closest" is
/// "verbose,map_gpu:0,1". Empty: the list does not bind GPUs. nullopt for a malformed list.
std::optional<std::string> gpu_bind_of_tres(std::string_view text);

}  // namespace dlaunch::place
