// Fences, connects and disconnects of PMIx over several hosts, as the launcher sees them: each host that has ranks
// among the members brings its part, and once all have, they get the parts of all. PURE. Owned by the launcher.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pmix/members.h"
#include "pmix/status.h"

namespace dlaunch::pmix {

inline constexpr size_t kMaxPart = 8u << 20;       ///< bytes that one host may bring to a fence
inline constexpr size_t kMostShared = 256u << 20;  ///< bytes of all hosts in one fence
inline constexpr size_t kMostOpen = 10000;         ///< collectives at one time
inline constexpr size_t kMostOfHost = 16u << 20;   ///< bytes that one host holds in those that are open

class Collectives {
 public:
  /// The next world. Its ranks are numbered on from those of the one before.
  void add_world(std::string space, const std::vector<int>& host_of_rank);

  /// The rank's number; nullopt: there is no such world or rank.
  std::optional<std::uint32_t> id_of(const std::string& space, std::uint32_t rank) const;

  struct Over {
    std::uint8_t kind = 0;
    std::string members;
    std::string data;
    PmixStatus status = PmixStatus::ok;
    std::vector<int> hosts;  ///< that wait for it
    std::string why;         ///< it failed: what a person should know; may be empty
  };
  /// Empty, or how the host breaks the order.
  std::string take(int host, std::uint8_t kind, const std::string& members, const std::string& data);
  /// A host whose members have all ended, and that has not come, never will: such collectives fail.
  void rank_ended(std::uint32_t id);
  /// Those that are over, each once.
  std::vector<Over> take_over();

 private:
  using Key = std::pair<std::uint8_t, std::string>;
  struct Open {
    std::map<int, std::vector<std::uint32_t>> ranks;  ///< ids of members that live, of each host that takes part
    std::set<int> came;
    std::string data;
    std::map<int, size_t> held;  ///< of held_, by this one
  };

  struct World {
    std::uint32_t first = 0;  ///< id of its rank 0
    std::uint32_t size = 0;
  };

  void hold(int host, Open& open, size_t bytes);
  /// False when there is no such rank or world.
  bool find_ranks(const std::string& members, Open& open) const;
  void check(const Key& key, Open& open);
  void end(const Key& key, Open& open, PmixStatus status, std::string why);

  std::map<std::string, World> worlds_;
  std::vector<int> host_of_rank_;  // by id, as the next
  std::vector<bool> ended_;
  std::map<Key, Open> open_;
  std::map<int, size_t> held_;  // bytes, by the host that brought them or made us keep them
  std::vector<Over> over_;
};

}  // namespace dlaunch::pmix
