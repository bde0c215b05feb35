// The programs of a SpawnAsk, which has their words one behind the other. PURE.
#pragma once

#include <optional>
#include <vector>

#include "base/spawn_program.h"
#include "wire/message.h"

namespace dlaunch::wire {

void add(SpawnAsk& ask, SpawnProgram program);

/// nullopt when its lists do not fit each other.
std::optional<std::vector<SpawnProgram>> programs(const SpawnAsk& ask);

}  // namespace dlaunch::wire
