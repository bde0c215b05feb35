// The memory of samples, in bytes. PURE.
#pragma once

#include <cstddef>
#include <vector>

#include "stacks/sample.h"

namespace dlaunch::stacks {

std::size_t bytes_of(const std::vector<Frame>& frames);
std::size_t bytes_of(const Sample& sample);

}  // namespace dlaunch::stacks
