// Sets the environment of ranks with a rank table. Pure. The module ranktable makes the table.
#pragma once

#include <array>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

inline constexpr std::string_view kRankTableVariable = "RANK_TABLE_FILE";

/// With a rank table, ranks do not get these variables from the launcher but from dlaunch, unless -x sets them.
/// (MindSpore prefers the last one to RANK_TABLE_FILE.)
inline constexpr std::array<std::string_view, 3> kRankTableVariables = {kRankTableVariable, "DEVICE_NUM",
                                                                        "MINDSPORE_HCCL_CONFIG_PATH"};

/// Sets DEVICE_NUM of each rank, the number of ranks on its host. Sets RANK_TABLE_FILE if the path of the table is
/// known; on other hosts the agent sets it.
Result<Plan> with_rank_table(Plan plan, RankTable table);

}  // namespace dlaunch::plan
