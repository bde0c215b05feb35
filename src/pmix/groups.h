// A PMIx group over several hosts. Every host sends the lowest group number that it can still use, and libpmix's data
// for the other hosts. All hosts take the highest of these numbers, so that no host has used it. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::pmix {

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
