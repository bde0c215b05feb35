// Lets libpmix accept only connections of the ConnectionProxy. libpmix listens on a port of 127.0.0.1, which every user
// of the machine can reach, and waits for the whole greeting of each peer. Therefore this program replaces accept(2)
// (accept_filter.cpp; the linker finds it before the function of the C library): the new function closes the connection
// of any other peer, and returns an ended connection to libpmix. Owned by the ConnectionProxy; one object at a time.
// libpmix calls the function from its own thread.
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

  /// Makes an admitted connection to that port of 127.0.0.1. Empty with errno set.
  sys::Fd dial(std::uint16_t port);
  /// Returns the descriptor that libpmix gets for an accepted connection.
  static int admit(int accepted);

 private:
  bool is_expected(std::uint16_t port);

  std::mutex mutex_;
  std::set<std::uint16_t> expected_;  // source ports of connections that are not accepted yet
};

}  // namespace dlaunch::pmix
