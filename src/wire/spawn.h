// Puts the programs of a spawn into a SpawnAsk, whose lists hold their words one after the other, and back. PURE.
#pragma once

#include <optional>
#include <vector>

#include "base/spawn_program.h"
#include "wire/message.h"

namespace dlaunch::wire {

void add(SpawnAsk& ask, SpawnProgram program);

/// nullopt when its lists do not match each other.
std::optional<std::vector<SpawnProgram>> programs(const SpawnAsk& ask);

}  // namespace dlaunch::wire
