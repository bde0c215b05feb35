// The script that a program reads: `train.py` in `python3 -u train.py`. PURE.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlaunch::cli {

struct Script {
  std::string name;      ///< as typed; relative to the working directory of the program
  bool in_path = false;  ///< it has no slash and may be in PATH, too
  bool operator==(const Script&) const = default;
};

/// nullopt when argv[0] is no known interpreter, or reads its program from elsewhere: -c CODE, -m MODULE, stdin.
std::optional<Script> script_of(const std::vector<std::string>& argv);

}  // namespace dlaunch::cli
