// Which entry of .eh_frame is of a function, where the linker wrote no table for searching: of programs that are linked
// with -static. Pure over ReadMemory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stacks/memory.h"

namespace dlaunch::stacks {

class FrameEntries {
 public:
  FrameEntries() = default;
  /// `address` and `size`: of the section in memory. What cannot be read, or comes behind what makes no sense, is left
  /// out.
  FrameEntries(const ReadMemory& read, std::uint64_t address, std::uint64_t size);

  /// The address of the entry that covers `pc`.
  std::optional<std::uint64_t> entry_of(std::uint64_t pc) const;

 private:
  struct Function {
    std::uint64_t start;
    std::uint64_t size;
    std::uint64_t entry;
  };
  std::vector<Function> functions_;  // in the order of addresses
};

}  // namespace dlaunch::stacks
