// PMIx collectives (fence, connect, disconnect) over several hosts, for the launcher: each host with member ranks sends
// its part, and after the last one all hosts get all parts. PURE. Owned by the launcher.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pmix/members.h"

namespace dlaunch::pmix {

inline constexpr size_t kMaxPart = 8u << 20;       ///< limit of bytes of one host in a fence
inline constexpr size_t kMostShared = 256u << 20;  ///< limit of bytes of all hosts in a fence
inline constexpr size_t kMostOpen = 10000;         ///< limit of open collectives
inline constexpr size_t kMostOfHost = 16u << 20;   ///< limit of bytes of one host in all open collectives

class Collectives {
 public:
  /// Adds the next world. Its ranks get the next ids.
  void add_world(std::string space, const std::vector<int>& host_of_rank);

  /// The id of the rank; nullopt: unknown world or rank.
  std::optional<std::uint32_t> id_of(const std::string& space, std::uint32_t rank) const;

  struct Over {
    std::uint8_t kind = 0;
    std::string members;
    std::string data;
    PmixStatus status = PmixStatus::ok;
    std::vector<int> hosts;  ///< the waiting hosts
    std::string why;         ///< the reason of a failure, for a person; may be empty
  };
  /// Takes the part of a host. Returns the protocol error, or an empty text.
  std::string take(int host, std::uint8_t kind, const std::string& members, const std::string& data);
  /// Fails the collectives without a part of a host on which all members have ended.
  void rank_ended(std::uint32_t id);
  /// The ended collectives, each once.
  std::vector<Over> take_over();

 private:
  using Key = std::pair<std::uint8_t, std::string>;
  struct Open {
    std::map<int, std::vector<std::uint32_t>> ranks;  ///< per participating host: ids of living members
    std::set<int> came;
    std::string data;
    std::map<int, size_t> held;  ///< per host: its share of held_ for this collective
  };

  struct World {
    std::uint32_t first = 0;  ///< id of its rank 0
    std::uint32_t size = 0;
  };

  void hold(int host, Open& open, size_t bytes);
  /// Returns false for an unknown rank or world.
  bool find_ranks(const std::string& members, Open& open) const;
  void check(const Key& key, Open& open);
  void end(const Key& key, Open& open, PmixStatus status, std::string why);

  std::map<std::string, World> worlds_;
  std::vector<int> host_of_rank_;  // by id, as ended_
  std::vector<bool> ended_;
  std::map<Key, Open> open_;
  std::map<int, size_t> held_;  // per host: kept bytes that the host sent or caused
  std::vector<Over> over_;
};

}  // namespace dlaunch::pmix
