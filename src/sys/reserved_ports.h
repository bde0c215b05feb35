// TCP ports of this machine that are kept from others: bound on all addresses, never listened on.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "dlaunch/error.h"
#include "sys/fd.h"

namespace dlaunch::sys {

class ReservedPorts {
 public:
  /// Takes the first `count` ports of candidate(0), candidate(1), … (fewer than `most`) that nobody else has.
  static Result<ReservedPorts> take(size_t count, const std::function<int(int)>& candidate, int most);

  const std::vector<int>& ports() const { return ports_; }

  /// Frees the ports for others to bind.
  void release() { fds_.clear(); }

 private:
  std::vector<int> ports_;
  std::vector<Fd> fds_;
};

}  // namespace dlaunch::sys
