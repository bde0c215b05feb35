// Minimal requests and allocations for the planner's tests.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "dlaunch/plan.h"

namespace dlaunch::plan {

inline Host host(std::string name, int slots, int devices = 0) {
  Host made;
  made.name = std::move(name);
  made.slots = slots;
  made.slots_from = "affinity mask";
  if (devices > 0) {
    made.device_kind = DeviceKind::fake;
    made.devices.resize(static_cast<size_t>(devices));
    std::iota(made.devices.begin(), made.devices.end(), 0);
    made.devices_from = "--fake-devices";
  }
  return made;
}

inline Allocation local(int slots, int devices = 0) {
  Host here = host("here", slots, devices);
  here.local = true;
  return {.hosts = {here}, .slots_are_limits = false};
}

/// Hosts n0, n1, … with slots from the user.
inline Allocation hosts(const std::vector<int>& slots) {
  Allocation allocation{.hosts = {}, .slots_are_limits = true};
  for (size_t i = 0; i < slots.size(); ++i) {
    allocation.hosts.push_back(host(std::string("n").append(std::to_string(i)), slots[i]));
    allocation.hosts.back().slots_from = std::string("hostfile:").append(std::to_string(i + 1));
  }
  return allocation;
}

inline AppRequest app(std::vector<std::string> argv, std::optional<int> ranks = {}) {
  return {.argv = std::move(argv), .ranks = ranks, .wdir = {}, .env = {}};
}

inline Request request(std::optional<int> ranks) {
  Request made;
  made.job_id = "job-1";
  made.apps = {app({"python3", "train.py"}, ranks)};
  made.environment = {"HOME=/home/u", "PATH=/usr/bin"};
  made.cwd = "/work";
  return made;
}

}  // namespace dlaunch::plan
