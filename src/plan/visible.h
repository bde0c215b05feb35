// Sets the devices that a rank sees (--visible) through the variables of their drivers. Pure.
//
// The allocation has only the devices in the lists of the launcher, as physical ids (machine/local.h). The new
// variables replace these lists and do not narrow the devices again. For devices of an unknown kind, the variables of
// all drivers are set.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

/// With --visible rank or host, ranks do not get the launcher's values of these variables.
inline constexpr std::array<std::string_view, 4> kVisibleVariables = {
    "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};

/// The reason if --visible cannot be applied to a host; else nullopt.
std::optional<Error> refuse_visible(const Plan& plan);

/// Sets Rank::ordinal, and adds the variables of --visible to Rank::env. A note names devices of ranks that the ranks
/// do not see. The rest of the plan must be complete.
void show_devices(Plan& plan);

// Reads the GPUs of each task of a node in LSF (bsub -gpu num=2/task). LSF sets CUDA_VISIBLE_DEVICES1, …2, …, one per
// task; a launcher sets the task's CUDA_VISIBLE_DEVICES from them (release notes of LSF 10.1.0.10). Pure.

inline constexpr std::string_view kGpusOfNode = "CUDA_VISIBLE_DEVICES";

/// Whether the name is kGpusOfNode followed by a number.
bool names_task_gpus(std::string_view name);

/// Whether the variables belong to an LSF job with such lists.
bool has_task_gpus(const std::vector<std::string>& environment);

/// kGpusOfNode=LIST of a task of this node, from 0. Lists go to tasks in the order of their suffix, which may start at
/// any number. nullopt if the node's variables have no list for the task.
std::optional<std::string> task_gpus(const std::vector<std::string>& node_variables, std::uint32_t task);

}  // namespace dlaunch::plan
