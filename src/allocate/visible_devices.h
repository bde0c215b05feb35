// CUDA_VISIBLE_DEVICES and its kin, as the drivers understand them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::allocate {

struct VisibleDevices {
  std::vector<int> devices;        ///< in the order of the list
  std::vector<std::string> uuids;  ///< not empty: the list names devices so, and their ids are 0… by place in it
};

/// Narrows `present` by a list such as "2,0" or "GPU-8f6d…,MIG-3a…". The first entry that is no device (-1, a number
/// that is not there, a word, a repeated one) ends the list, as in CUDA; "" leaves none. `ranges`: "0-3" is four
/// devices, as Ascend allows.
VisibleDevices narrow(const std::vector<int>& present, std::string_view list, bool ranges);

}  // namespace dlaunch::allocate
