// The GPUs that LSF gives to each task of a node (bsub -gpu num=2/task): CUDA_VISIBLE_DEVICES1, …2, …, one for each, of
// which a launcher makes the task's CUDA_VISIBLE_DEVICES (release notes of LSF 10.1.0.10). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::plan {

inline constexpr std::string_view kGpusOfNode = "CUDA_VISIBLE_DEVICES";

/// Whether it is kGpusOfNode with a number behind it.
bool names_task_gpus(std::string_view name);

/// Whether the variables are of an LSF job with such lists.
bool has_task_gpus(const std::vector<std::string>& environment);

/// kGpusOfNode=LIST of a task of this node, from 0: that with the lowest number is of the first one, wherever
/// the numbers begin. nullopt where the node's variables have none for it.
std::optional<std::string> task_gpus(const std::vector<std::string>& node_variables, std::uint32_t task);

}  // namespace dlaunch::plan
