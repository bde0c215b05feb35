#include "dlaunch/host.h"

namespace dlaunch::plan {

std::string_view to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::none:
      return "none";
    case DeviceKind::nvidia:
      return "nvidia";
    case DeviceKind::ascend:
      return "ascend";
    case DeviceKind::amd:
      return "amd";
    case DeviceKind::fake:
      return "fake";
    case DeviceKind::named:
      return "named";
  }
  return "none";
}

std::string to_string(const Manager& manager) {
  return manager.job.empty() ? manager.name : manager.name + " job " + manager.job;
}

}  // namespace dlaunch::plan
