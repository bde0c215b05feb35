// The faults of a world: each kind has two functions, which begin and end the fault (faults.cpp).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenario.h"

namespace sim {

class World;

struct FaultKind {
  enum class Of { host, rank, login, user, manager, launcher, reader, clock };
  std::string_view name;
  Of of;  ///< what the fault harms
  void (*begin)(World& world, const Fault& fault);
  void (*end)(World& world, const Fault& fault);  ///< nullptr: the fault stays
};

const std::vector<FaultKind>& fault_kinds();
bool is_fault(std::string_view kind);
const FaultKind& kind_of(const Fault& fault);
/// The time between TERM and KILL of a batch system.
Ns manager_kill_wait(const Fault& fault);

/// The faults of a scenario: starts each at its moment.
class Faults {
 public:
  explicit Faults(World& world);
  /// Begins the faults of logins at time 0: before the launcher connects.
  void begin_early();
  void sent(const std::string& message);
  void printed(std::string_view text);

 private:
  void arm(size_t index);
  void begin(size_t index);

  World& world_;
  std::set<size_t> armed_;
};

}  // namespace sim
