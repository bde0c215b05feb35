// Samples of a host's ranks as the one message that tells them: ranks that stand at the same place share its text. What
// is over the message's cap is left out, and said so. PURE.
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
