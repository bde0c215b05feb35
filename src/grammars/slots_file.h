// The hostfile format of DeepSpeed and Horovod: only lines NAME slots=N. PURE.
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

/// Returns the hosts in the file's order, at least one. Skips blank lines and lines that begin with '#'. A duplicate
/// host is an Error.
Result<std::vector<HostSlots>> parse_slots_file(std::string_view text, const std::string& path);

}  // namespace dlaunch::cli
