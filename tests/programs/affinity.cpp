// affinity: prints the CPUs that the process may use, as /proc/self/status lists them: "0-3,8".
#include <fstream>
#include <iostream>
#include <string>

int main() {
  constexpr std::string_view kField = "Cpus_allowed_list:\t";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kField)) continue;
    std::cout << line.substr(kField.size()) << '\n';
    return 0;
  }
  return 1;
}
