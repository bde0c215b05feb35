// --bind-to device: the CPUs near each local rank's device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/binding.h"
#include "wire/message.h"

namespace dlaunch::agent {

struct NearDevices {
  std::vector<std::vector<std::uint32_t>> cpus;  ///< of each local rank; none: it is not bound
  std::string note;                              ///< which ranks are not, and why; empty: all are
};

/// `root` is "" for this machine.
NearDevices bind_near_devices(const plan::Topology& topology, const wire::Layout& layout, const std::string& root = {});

}  // namespace dlaunch::agent
