// A PMIx group that several hosts construct together, as their parts go between them: every host brings the least
// number that it can still give a group and what libpmix has for the others; all take the greatest of these numbers,
// and so agree on one that none of them has given before. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::pmix {

struct GroupPart {
  std::uint64_t number = 0;  ///< of a whole: the group's
  std::string data;          ///< of a whole: of all hosts, in the order in which they came
};

/// What is added to a collective's members so that two groups of the same ranks are two collectives.
std::string group_mark(std::string_view name);

std::string write_group_part(const GroupPart& part);

/// Of all hosts' parts, one after the other. Nothing when they are none.
std::optional<GroupPart> join_group_parts(std::string_view parts);

}  // namespace dlaunch::pmix
