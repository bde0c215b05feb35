// The script that a program is to read: `train.py` of `python3 -u train.py`. PURE.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlaunch::cli {

struct Script {
  std::string name;      ///< as it was typed; relative to the working directory of who reads it
  bool in_path = false;  ///< without a slash it may be in PATH, too
  bool operator==(const Script&) const = default;
};

/// None when argv[0] is no interpreter that is known here, or has its program from elsewhere: -c CODE, -m MODULE,
/// stdin.
std::optional<Script> script_of(const std::vector<std::string>& argv);

}  // namespace dlaunch::cli
