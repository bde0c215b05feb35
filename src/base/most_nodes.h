// The maximum number of nodes of a --same-line job: the same for options, variables and statements of nodes.
#pragma once

namespace dlaunch {

inline constexpr int kMostNodes = 100'000;

}  // namespace dlaunch
