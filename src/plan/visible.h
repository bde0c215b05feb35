// Which devices a rank sees (--visible), by the variables that their drivers read. Pure.
//
// The allocation has the devices that the launcher's own variables leave as physical ids (allocate/local.h), so these
// variables are replaced and do not narrow again. For devices of an unknown kind every driver's variable is set.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

/// With --visible rank or host, the launcher's own values of these are not passed on.
inline constexpr std::array<std::string_view, 4> kVisibleVariables = {
    "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};

/// Why the ranks of a host cannot be shown devices as asked; nullopt when they can.
std::optional<Error> refuse_visible(const Plan& plan);

/// Sets Rank::ordinal, and adds what --visible asks for to Rank::env. A note names devices that ranks have but do not
/// see. The plan is otherwise complete.
void show_devices(Plan& plan);

}  // namespace dlaunch::plan
