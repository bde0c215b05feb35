// PMIx collectives (fence, connect, disconnect) over several hosts, as the launcher sees them: each host that has ranks
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
inline constexpr size_t kMostOpen = 10000;         ///< collectives that are open at one time
inline constexpr size_t kMostOfHost = 16u << 20;   ///< bytes that one host holds in all that are open

class Collectives {
 public:
  /// Adds the next world. Its ranks have the next ids.
  void add_world(std::string space, const std::vector<int>& host_of_rank);

  /// The rank's id; nullopt when there is no such world or rank.
  std::optional<std::uint32_t> id_of(const std::string& space, std::uint32_t rank) const;

  struct Over {
    std::uint8_t kind = 0;
    std::string members;
    std::string data;
    PmixStatus status = PmixStatus::ok;
    std::vector<int> hosts;  ///< those that wait for it
    std::string why;         ///< why it failed, for a person; may be empty
  };
  /// Takes a host's part. Returns how it breaks the order, or an empty text.
  std::string take(int host, std::uint8_t kind, const std::string& members, const std::string& data);
  /// Fails the collectives to which a host has not come and all of whose members there have ended.
  void rank_ended(std::uint32_t id);
  /// The collectives that are over, each once.
  std::vector<Over> take_over();

 private:
  using Key = std::pair<std::uint8_t, std::string>;
  struct Open {
    std::map<int, std::vector<std::uint32_t>> ranks;  ///< by host that takes part: ids of members that live
    std::set<int> came;
    std::string data;
    std::map<int, size_t> held;  ///< by host: its share of held_ for this collective
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
  std::vector<int> host_of_rank_;  // by id, as ended_
  std::vector<bool> ended_;
  std::map<Key, Open> open_;
  std::map<int, size_t> held_;  // bytes, by the host that sent them or caused us to keep them
  std::vector<Over> over_;
};

}  // namespace dlaunch::pmix
