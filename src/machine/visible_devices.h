// Reads CUDA_VISIBLE_DEVICES and similar variables with the meaning of the drivers. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::machine {

struct VisibleDevices {
  std::vector<int> devices;        ///< in the order of the list
  std::vector<std::string> uuids;  ///< only for lists with UUIDs; the ids are then 0… in their order
};

/// Narrows `present` by a list such as "2,0" or "GPU-8f6d…,MIG-3a…". The first invalid entry (-1, an absent number, a
/// word, a duplicate) ends the list, as in CUDA; "" leaves no devices. `ranges`: "0-3" means four devices, as Ascend
/// allows.
VisibleDevices narrow(const std::vector<int>& present, std::string_view list, bool ranges);

}  // namespace dlaunch::machine
