// Finds the entry of .eh_frame for a function without the linker's search table, as in programs linked with -static.
// Pure over ReadMemory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stacks/budget.h"
#include "stacks/memory.h"

namespace dlaunch::stacks {

class FrameEntries {
 public:
  FrameEntries() = default;
  /// `address` and `size` of the section in memory. Unreadable entries, and all entries after malformed ones, are left
  /// out. Empty if the budget is used up.
  FrameEntries(const ReadMemory& read, std::uint64_t address, std::uint64_t size, Budget& budget);

  /// The address of the entry for `pc`.
  std::optional<std::uint64_t> entry_of(std::uint64_t pc) const;

 private:
  struct Function {
    std::uint64_t start;
    std::uint64_t size;
    std::uint64_t entry;
  };
  std::vector<Function> functions_;  // ordered by address
};

}  // namespace dlaunch::stacks
