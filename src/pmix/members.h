// The members of a collective, as a text that is equal on every host: "SPACE:*" for all ranks of a world, "SPACE:0-3,7"
// for some, several worlds separated by blanks, ordered by name. A word that starts with # distinguishes collectives of
// the same members. With the status numbers of collectives, and the parts of a group. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlaunch::pmix {

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

}  // namespace dlaunch::pmix
