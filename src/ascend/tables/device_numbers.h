// Reads --device_num and --visible_devices with the meaning of hccl_tools.py, without its bugs. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::ranktable {

struct ChosenDevices {
  std::vector<long> numbers = {};  ///< the numbers of --device_num, for the file name
  std::vector<long> devices = {};  ///< physical ids, in the same order
};

/// `numbers`: "[4,8)" (without 8; blanks allowed), "4-7" or "0,2". `visible`: physical ids; `numbers` are then
/// positions in this list, from 0: "[0,2)" of "4,5,6,7" selects 4 and 5. Without `numbers`: all of `visible`, else
/// [0,8).
Result<ChosenDevices> choose_devices(const std::optional<std::string>& numbers,
                                     const std::optional<std::string>& visible);

}  // namespace dlaunch::ranktable
