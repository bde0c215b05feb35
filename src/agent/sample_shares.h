// Divides the time of a stack sample among the ranks of a host, so that a slow rank does not hide the others. PURE.
#pragma once

#include <sys/types.h>
#include <functional>
#include <vector>

#include "agent/stack_sampler.h"
#include "agent/stacks_answer.h"
#include "base/time.h"

namespace dlaunch::agent {

/// Samples the ranks in order until `end`. Each rank may use an equal part of the time that is left. Then ranks that
/// ran out of time are sampled again if time is left. The result has fewer ranks if the time ended before. `take`
/// samples one process until its deadline.
std::vector<RankTree> sample_in_shares(const StackSampler::RankPids& ranks, Time end, const std::function<Time()>& now,
                                       const std::function<stacks::Tree(pid_t pid, Time deadline)>& take);

}  // namespace dlaunch::agent
