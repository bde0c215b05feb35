// A simulated host and its connection to the launcher's network. Passive.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "time/virtual_time.h"

namespace sim {

struct Host {
  std::string name;
  Ns clock_offset = 0;       ///< its CLOCK_REALTIME minus CLOCK_REALTIME of the launcher
  bool frozen = false;       ///< nothing runs: a suspended virtual machine
  bool out_blocked = false;  ///< no packet leaves for the launcher
  bool in_blocked = false;
  bool halves = false;                              ///< of the next packet, only the first half leaves
  bool forks = true;                                ///< false: fork fails with EAGAIN
  int refuses = 0;                                  ///< this number of logins is refused; -1: all
  Ns slow = 0;                                      ///< additional time of a login
  std::deque<std::function<void()>> deferred = {};  ///< events of the frozen time
};

}  // namespace sim
