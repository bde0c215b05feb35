// A PMIx group that several hosts construct together. Every host brings the least number that it can still give a
// group, and libpmix's data for the other hosts. All take the greatest of these numbers, and so agree on one that none
// of them has used. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::pmix {

struct GroupPart {
  std::uint64_t number = 0;  ///< the group's, once joined
  std::string data;          ///< once joined: of all hosts, in the order in which they came
};

/// The word in a collective's members that makes two groups of the same ranks two collectives.
std::string group_mark(std::string_view name);

std::string write_group_part(const GroupPart& part);

/// Joins the parts of all hosts, which stand one after the other. nullopt when they are malformed.
std::optional<GroupPart> join_group_parts(std::string_view parts);

}  // namespace dlaunch::pmix
