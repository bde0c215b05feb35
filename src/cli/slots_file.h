// A hostfile of lines NAME slots=N and nothing else, as DeepSpeed and Horovod want it. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::cli {

struct HostSlots {
  std::string name;
  int slots = 0;
};

/// In the file's order; blank lines and those that begin with '#' are left out. No host twice, and at least one.
Result<std::vector<HostSlots>> parse_slots_file(std::string_view text, const std::string& path);

}  // namespace dlaunch::cli
