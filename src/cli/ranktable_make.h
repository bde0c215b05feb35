// The rank table of the host we are on.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/ranktable_arguments.h"
#include "ranktable/json.h"

namespace dlaunch::cli {

struct MadeTable {
  ranktable::Json json;
  std::string name;                ///< hccl_tools.py's for it
  std::vector<std::string> notes;  ///< what was chosen without being asked, a line each
};

/// Asks the kernel for our address and the driver for the devices'; writes nothing.
Result<MadeTable> make_on_this_host(const RanktableMake& command);

}  // namespace dlaunch::cli
