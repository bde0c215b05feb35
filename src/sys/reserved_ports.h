// Reserved TCP ports of this machine: bound on all addresses, without listening.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "dlaunch/error.h"
#include "sys/fd.h"

namespace dlaunch::sys {

class ReservedPorts {
 public:
  /// Takes the first `count` free ports of candidate(0), candidate(1), … (fewer than `most`).
  static Result<ReservedPorts> take(size_t count, const std::function<int(int)>& candidate, int most);

  const std::vector<int>& ports() const { return ports_; }

  /// Releases the ports for other processes.
  void release() { fds_.clear(); }

 private:
  std::vector<int> ports_;
  std::vector<Fd> fds_;
};

}  // namespace dlaunch::sys
