// --device_num and --visible_devices as hccl_tools.py takes them, without its faults. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::ranktable {

struct ChosenDevices {
  std::vector<long> numbers = {};  ///< what --device_num says, for the file's name
  std::vector<long> devices = {};  ///< physical ids, in the same order
};

/// `numbers`: "[4,8)" (8 not included; blanks do no harm), or "4-7", "0,2". `visible`: physical ids, which `numbers`
/// then counts from 0: "[0,2)" of "4,5,6,7" is 4 and 5. Without `numbers`: all of `visible`, else [0,8).
Result<ChosenDevices> choose_devices(const std::optional<std::string>& numbers,
                                     const std::optional<std::string>& visible);

}  // namespace dlaunch::ranktable
