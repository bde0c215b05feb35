// Reads the GPUs of each task of a node in LSF (bsub -gpu num=2/task). LSF sets CUDA_VISIBLE_DEVICES1, …2, …, one per
// task; a launcher sets the task's CUDA_VISIBLE_DEVICES from them (release notes of LSF 10.1.0.10). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::plan {

inline constexpr std::string_view kGpusOfNode = "CUDA_VISIBLE_DEVICES";

/// Whether the name is kGpusOfNode followed by a number.
bool names_task_gpus(std::string_view name);

/// Whether the variables belong to an LSF job with such lists.
bool has_task_gpus(const std::vector<std::string>& environment);

/// kGpusOfNode=LIST of a task of this node, from 0. Lists go to tasks in the order of their suffix, which may start at
/// any number. nullopt if the node's variables have no list for the task.
std::optional<std::string> task_gpus(const std::vector<std::string>& node_variables, std::uint32_t task);

}  // namespace dlaunch::plan
