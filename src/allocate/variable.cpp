#include "allocate/variable.h"

namespace dlaunch::allocate {

std::optional<std::string> variable(const std::vector<std::string>& environment, std::string_view name) {
  std::optional<std::string> value;
  for (const std::string& entry : environment) {
    if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=') {
      value = entry.substr(name.size() + 1);
    }
  }
  return value;
}

}  // namespace dlaunch::allocate
