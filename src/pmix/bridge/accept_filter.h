// libpmix listens on a port of 127.0.0.1, which every user of the machine can reach, and waits for whoever connects to
// send a whole greeting. This program therefore replaces accept(2) (gate.cpp; it is found by name before the C
// library's): a connection that the proxy did not make is closed, and libpmix gets one that has ended. Owned by the
// ConnectionProxy; one at a time. libpmix calls from a thread of its own.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

#include "sys/fd.h"

namespace dlaunch::pmix {

class AcceptFilter {
 public:
  AcceptFilter();
  ~AcceptFilter();
  AcceptFilter(const AcceptFilter&) = delete;
  AcceptFilter& operator=(const AcceptFilter&) = delete;

  /// Makes a connection to that port of 127.0.0.1 that is admitted. Empty with errno set.
  sys::Fd dial(std::uint16_t port);
  /// Returns what libpmix gets for a connection that it has accepted.
  static int admit(int accepted);

 private:
  bool is_expected(std::uint16_t port);

  std::mutex mutex_;
  std::set<std::uint16_t> expected_;  // source ports of connections that were not accepted yet
};

}  // namespace dlaunch::pmix
