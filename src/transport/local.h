// The agent of this machine: a child of the launcher, run from the copy inside it. Owned by `main`.
#pragma once

#include <vector>

#include "transport/transport.h"

namespace dlaunch::transport {

class Local : public Transport {
 public:
  Result<Opened> open(const plan::Host& host) override;
  void close() override;

 private:
  std::vector<int> agents_;  // pids
};

}  // namespace dlaunch::transport
