// Sets the devices that a rank sees (--visible) through the variables of their drivers. Pure.
//
// The allocation has only the devices in the lists of the launcher, as physical ids (allocate/local.h). The new
// variables replace these lists and do not narrow the devices again. For devices of an unknown kind, the variables of
// all drivers are set.
#pragma once

#include <array>
#include <optional>
#include <string_view>

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

}  // namespace dlaunch::plan
