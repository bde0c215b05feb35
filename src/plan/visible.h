// Which devices a rank sees (--visible), by the variables that their drivers read. Pure.
//
// What the launcher's own environment had narrowed is known as physical ids by now (allocate/local.h), so the
// launcher's list is replaced and never narrowed again. Devices of a kind not known here are named to every driver.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

/// Of them --visible rank and host leave nothing that the launcher had.
inline constexpr std::array<std::string_view, 4> kVisibleVariables = {
    "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};

/// Why the ranks of a host cannot be shown devices as asked; nullopt when they can.
std::optional<Error> refuse_visible(const Plan& plan);

/// Sets Rank::ordinal, and where --visible asks it adds to Rank::env; a note names devices that ranks have and do not
/// see. The rest of the plan is complete.
void show_devices(Plan& plan);

}  // namespace dlaunch::plan
