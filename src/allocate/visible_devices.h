// CUDA_VISIBLE_DEVICES and the like, with the meaning that the drivers give them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::allocate {

struct VisibleDevices {
  std::vector<int> devices;        ///< in the order of the list
  std::vector<std::string> uuids;  ///< set when the list has UUIDs; the ids are then 0… by their order
};

/// Narrows `present` by a list such as "2,0" or "GPU-8f6d…,MIG-3a…". The first invalid entry (-1, a number that is not
/// present, a word, a repetition) ends the list, as in CUDA; "" leaves none. `ranges`: "0-3" is four devices, as Ascend
/// allows.
VisibleDevices narrow(const std::vector<int>& present, std::string_view list, bool ranges);

}  // namespace dlaunch::allocate
