// What ranks with a rank table find in their environment. Pure. The ranktable room makes the table itself.
#pragma once

#include <array>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

inline constexpr std::string_view kRankTableVariable = "RANK_TABLE_FILE";

/// With a rank table these variables are not taken from the launcher: ranks get values of their own, unless -x set one.
/// (MindSpore reads the last before RANK_TABLE_FILE.)
inline constexpr std::array<std::string_view, 3> kRankTableVariables = {kRankTableVariable, "DEVICE_NUM",
                                                                        "MINDSPORE_HCCL_CONFIG_PATH"};

/// Each rank gets DEVICE_NUM, the number of ranks on its host. It gets RANK_TABLE_FILE where the table is at a known
/// path; elsewhere the agent sets it.
Result<Plan> with_rank_table(Plan plan, RankTable table);

}  // namespace dlaunch::plan
