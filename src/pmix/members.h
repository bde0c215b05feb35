// The members of a collective, as a text that is equal on every host: "SPACE:*" for all ranks of a world, "SPACE:0-3,7"
// for some, several worlds separated by blanks, ordered by name. A word that starts with # distinguishes collectives of
// the same members (pmix/groups.h). PURE.
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

}  // namespace dlaunch::pmix
