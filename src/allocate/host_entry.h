// One host as a list names it: what was said, and nothing that was not. A value; allocation_of (named.h) makes hosts
// of the entries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/allocation.h"

namespace dlaunch::allocate {

inline constexpr int kMostSlots = 1'000'000;

struct HostEntry {
  std::string name;  ///< as written, never shortened; without user and brackets
  std::optional<int> slots;
  bool slots_automatic = false;  ///< -H a:*, the host's own number of CPUs
  std::optional<int> max_slots;
  std::optional<std::vector<int>> devices;
  plan::Reach reach;
  std::string wdir;
  std::vector<std::string> env;  ///< NAME=VALUE
  int pool = 0;                  ///< the program's own list that it stands in; 0: the job's
  std::string from;              ///< "hosts:3", "-H", "SLURM_JOB_NODELIST"
};

}  // namespace dlaunch::allocate
