// Converts the programs of a spawn into a SpawnAsk, whose lists have the words of all programs in order, and back.
// PURE.
#pragma once

#include <optional>
#include <vector>

#include "base/spawn_program.h"
#include "wire/message.h"

namespace dlaunch::wire {

void add(SpawnAsk& ask, SpawnProgram program);

/// Returns nullopt if the lists do not match each other.
std::optional<std::vector<SpawnProgram>> programs(const SpawnAsk& ask);

}  // namespace dlaunch::wire
