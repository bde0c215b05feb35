// Computes the CPUs to bind this host's ranks to. Owned by Ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "plan/binding.h"
#include "wire/message.h"

namespace dlaunch::agent {

struct BoundRanks {
  std::vector<std::vector<std::uint32_t>> cpus;  ///< of each local rank; empty: the rank is not bound
  std::string note;                              ///< which ranks are not bound, and why; empty: all are bound
};

/// --bind-to device: the CPUs near each local rank's device. `root` is "" for this machine.
BoundRanks bind_near_devices(const plan::Topology& topology, const wire::Layout& layout, const std::string& root = {});

class RankBinding {
 public:
  /// Returns a note for the user. An unreadable topology is reported per rank instead.
  std::string configure(const wire::Layout& layout);
  /// A mask for sched_setaffinity(2): bit n of the words is CPU n. Empty: the rank is not bound.
  Result<std::vector<unsigned long>> affinity_of(const wire::Spawn& spawn);

 private:
  Result<std::vector<std::uint32_t>> cpus_of(const wire::Spawn& spawn);

  Result<BoundRanks> bound_;
  std::optional<Result<plan::Topology>> whole_;  // read when a rank lists its CPUs
};

}  // namespace dlaunch::agent
