// Finds the script in a command line: `train.py` in `python3 -u train.py`. PURE.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlaunch::cli {

struct Script {
  std::string name;      ///< as typed; relative to the working directory of the program
  bool in_path = false;  ///< the interpreter also searches PATH for a name without a slash
  bool operator==(const Script&) const = default;
};

/// Returns nullopt if argv[0] is not a known interpreter, or if the program is not a file: -c CODE, -m MODULE, stdin.
std::optional<Script> script_of(const std::vector<std::string>& argv);

}  // namespace dlaunch::cli
