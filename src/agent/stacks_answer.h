// Builds the one message with the samples of a host's ranks: ranks with the same stack share its text. Data over the
// message's size limit is dropped, with a remark. PURE.
#pragma once

#include <cstdint>
#include <vector>

#include "stacks/sample.h"
#include "wire/stacks.h"

namespace dlaunch::agent {

struct RankTree {
  std::uint32_t rank = 0;
  stacks::Tree tree;
};

wire::Stacks stacks_answer(const wire::SampleStacks& question, std::int64_t time_ns,
                           const std::vector<RankTree>& ranks);

}  // namespace dlaunch::agent
