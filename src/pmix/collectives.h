// PMIx collectives (fence, connect, disconnect) over several hosts, for the launcher: each host with member ranks sends
// its part, and after the last one all hosts get all parts. PURE. Owned by the launcher.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlaunch::pmix {

// The members of a collective, as a text that is equal on every host: "SPACE:*" for all ranks of a world, "SPACE:0-3,7"
// for some, several worlds separated by blanks, ordered by name. A word that starts with # distinguishes collectives of
// the same members. With the status numbers of collectives, and the parts of a group. PURE.

inline constexpr std::uint32_t kAllRanks = ~0u;
inline constexpr size_t kMaxMembers = 1u << 20;  ///< bytes of the text

struct ProcId {
  std::string space;
  std::uint32_t rank = 0;  ///< or kAllRanks
};

/// The members in one world.
struct Members {
  std::string space;
  bool all = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> runs;  ///< first and last, ascending; empty if `all`
  bool operator==(const Members&) const = default;
};

std::string write_members(std::vector<ProcId> processes);

/// nullopt: not a text of write_members, with or without such words.
std::optional<std::vector<Members>> parse_members(std::string_view text);

/// The status numbers of PMIx for its clients; equal in every version of libpmix.
enum class PmixStatus : std::int32_t {
  ok = 0,
  failed = -1,
  unreachable = -25,
  bad_parameter = -27,
  out_of_memory = -32,
  not_found = -46,
  not_supported = -47,
  duplicate_key = -53,
};

// A PMIx group over several hosts. Every host sends the lowest group number that it can still use, and libpmix's data
// for the other hosts. All hosts take the highest of these numbers, so that no host has used it.

struct GroupPart {
  std::uint64_t number = 0;  ///< number of the group, after the join
  std::string data;          ///< after the join: data of all hosts, in the order of arrival
};

/// The word in the members of a collective that distinguishes two groups of the same ranks.
std::string group_mark(std::string_view name);

std::string write_group_part(const GroupPart& part);

/// Joins the parts of all hosts, given one after the other. nullopt: malformed.
std::optional<GroupPart> join_group_parts(std::string_view parts);

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
