#include <array>

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
  static constexpr std::array<std::string_view, 7> kNames = {"Slurm", "Grid Engine", "PBS", "Cobalt",
                                                             "LSF",   "MPIJob",      "Flux"};
  const std::string name(kNames[static_cast<size_t>(manager.kind)]);
  return manager.job.empty() ? name : name + " job " + manager.job;
}

}  // namespace dlaunch::plan
