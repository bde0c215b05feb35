// Converts the agents' stack samples for the hang policy and for the stack report. PURE.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dlaunch/plan.h"
#include "job/hangs.h"
#include "launcher/stack_sampling.h"
#include "report/stack_groups.h"

namespace dlaunch::launcher {

std::vector<job::RankSample> rank_samples(const StackSnapshot& snapshot);

/// Fills in ranks, silent hosts and remarks of the report. `before` is an earlier snapshot, used to compute CPU use.
void fill_picture(const StackSnapshot& snapshot, const StackSnapshot& before, const plan::Plan& plan,
                  report::StackReport& picture);

/// The stacks of all threads of all ranks, for a file.
std::string whole_stacks(const StackSnapshot& snapshot, const plan::Plan& plan);

/// "ranks 0-2,4-7 wait; rank 3 is running"
std::string doing_text(const job::Verdict& verdict, const Worlds& worlds);

}  // namespace dlaunch::launcher
